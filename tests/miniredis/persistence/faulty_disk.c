/* Operations on files that fail, for a server that is started with this as LD_PRELOAD.

   $FAULTY_FILES names a folder: operations on files in it fail. $FAULTS names another one: a file in it that is
   named after an operation holds the errno with which the operation fails; if there is no file, it works. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int code_of(const char *operation)
{
    char path[PATH_MAX], digits[16] = "";
    snprintf(path, sizeof path, "%s/%s", getenv("FAULTS"), operation);
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
    if (file < 0)
        return 0;
    syscall(SYS_read, file, digits, sizeof digits - 1);
    syscall(SYS_close, file);
    return atoi(digits);
}

static int is_concerned(int descriptor)
{
    char link[64], path[PATH_MAX] = "";
    const char *folder = getenv("FAULTY_FILES");
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    return readlink(link, path, sizeof path - 1) > 0 && !strncmp(path, folder, strlen(folder));
}

/* Whether the operation fails; errno says why. */
static int fails(const char *operation, int is_in_folder)
{
    int before = errno, code = is_in_folder ? code_of(operation) : 0;
    errno = code ? code : before;
    return code != 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int descriptor, const void *data, size_t size)
{
    return fails("write", is_concerned(descriptor)) ? -1 : REAL(write)(descriptor, data, size);
}

ssize_t writev(int descriptor, const struct iovec *pieces, int count)
{
    return fails("write", is_concerned(descriptor)) ? -1 : REAL(writev)(descriptor, pieces, count);
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *file)
{
    return fails("write", is_concerned(fileno(file))) ? 0 : REAL(fwrite)(data, size, count, file);
}

int fsync(int descriptor)
{
    return fails("sync", is_concerned(descriptor)) ? -1 : REAL(fsync)(descriptor);
}

int fdatasync(int descriptor)
{
    return fails("sync", is_concerned(descriptor)) ? -1 : REAL(fdatasync)(descriptor);
}

int rename(const char *path, const char *new)
{
    return fails("rename", 1) ? -1 : REAL(rename)(path, new);
}

/* A file that cannot be closed well is closed all the same. */

int close(int descriptor)
{
    int is_in_folder = is_concerned(descriptor), result = REAL(close)(descriptor);
    return fails("close", is_in_folder) ? -1 : result;
}

int fclose(FILE *file)
{
    int is_in_folder = is_concerned(fileno(file)), result = REAL(fclose)(file);
    return fails("close", is_in_folder) ? EOF : result;
}
