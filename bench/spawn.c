/*
 * Runs a program on given CPUs and writes what it cost, as JSON, to descriptor 3.
 *
 * Usage: bench_spawn CPUS COPIES PROGRAM [ARGUMENT]... 3>FILE
 *
 * CPUS are numbers with commas. COPIES of the program run side by side; their processor time, that
 * of their children and their memory are added up. Small, because the kernel counts the memory of
 * the process that forks to the largest resident set of the one that is forked.
 */
#include <err.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long us(struct timeval t)
{
    return t.tv_sec * 1000000LL + t.tv_usec;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        errx(2, "usage: bench_spawn CPUS COPIES PROGRAM [ARGUMENT]... 3>FILE");
    }
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (char *at = argv[1]; *at != '\0'; at += *at == ',') {
        CPU_SET(strtoul(at, &at, 10), &cpus);
    }
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) {
        err(2, "CPUs %s", argv[1]);
    }
    FILE *result = fdopen(3, "w");
    if (result == NULL) {
        err(2, "descriptor 3");
    }
    long copies = strtol(argv[2], NULL, 10), max_rss_kb = 0;
    long long user_us = 0, system_us = 0, begun_ns = now_ns();
    int worst = 0;
    for (long i = 0; i < copies; i++) {
        pid_t child = fork();
        if (child == 0) {
            close(3);
            execvp(argv[3], argv + 3);
            err(127, "%s", argv[3]);
        }
    }
    for (long i = 0; i < copies; i++) {
        struct rusage used;
        int status;
        if (wait4(-1, &status, 0, &used) < 0) {
            err(1, "wait4");
        }
        worst = status != 0 ? status : worst;
        user_us += us(used.ru_utime);
        system_us += us(used.ru_stime);
        max_rss_kb += used.ru_maxrss;
    }
    fprintf(result,
            "{\"begun_ns\": %lld, \"wall_ns\": %lld, \"user_us\": %lld, \"system_us\": %lld, "
            "\"max_rss_kb\": %ld, \"status\": %d}\n",
            begun_ns, now_ns() - begun_ns, user_us, system_us, max_rss_kb, worst);
    return fclose(result) == 0 ? 0 : 1;
}
