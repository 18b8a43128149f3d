#include "cli/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/file.h"
#include "base/mem.h"

#define KEY_PASS_VARIABLE "DRILLER_KEY_PASS"
#define KEY_PASS_MAX 4096

static const char *text_of(const struct arguments *arguments, enum option_id id)
{
    return arguments->options[id].text;
}

/* A flag beats the plan. */
static const char *flag_or_plan(const struct arguments *arguments, enum option_id id,
                                const char *of_plan)
{
    return arguments_has(arguments, id) ? text_of(arguments, id) : of_plan;
}

/* The passphrase is the first line of the file, else what the environment has. */
static bool read_key_password(const struct arguments *arguments, const struct plan_tls *plan,
                              struct wire *wire, struct faults *faults)
{
    const char *path = flag_or_plan(arguments, OPT_KEY_PASS_FILE, plan->key_pass_file), *why;
    const char *variable = getenv(KEY_PASS_VARIABLE);
    struct str text;

    if (!path) {
        wire->key_password = variable ? xstrdup(variable) : NULL;
        return true;
    }
    if (!file_read(path, KEY_PASS_MAX, &text, &why)) {
        faults_error(faults, PLACE_NONE, NULL, "couldn't read the passphrase in %s: %s", path, why);
        return false;
    }
    struct str line = {text.p, str_find(text, '\n')};
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    wire->key_password = xstrndup(line.p, line.n);
    xstr_free(text);
    return true;
}

/* The options are tried once, so that what is wrong with them is told before anything is sent. */
static bool try_tls(const struct tls_options *tls, struct faults *faults)
{
    char error[512];
    struct tls_context *context = tls_context_new(tls, error, sizeof(error));

    if (!context)
        faults_error(faults, PLACE_NONE, NULL, "%s", error);
    tls_context_free(context);
    return context != NULL;
}

static bool set_tls(const struct arguments *arguments, const struct plan_tls *plan,
                    struct wire *wire, struct tls_options *tls, struct faults *faults)
{
    const struct option_value *min = &arguments->options[OPT_TLS_MIN];

    if (!read_key_password(arguments, plan, wire, faults))
        return false;
    *tls = (struct tls_options){
        .cacert = flag_or_plan(arguments, OPT_CACERT, plan->cacert),
        .cert = flag_or_plan(arguments, OPT_CERT, plan->cert),
        .key = flag_or_plan(arguments, OPT_KEY, plan->key),
        .key_password = wire->key_password,
        .min_version =
            (min->times ? min->whole == TLS_MIN_1_3 : plan->only_1_3) ? TLS_1_3 : TLS_1_2,
        .ciphers = flag_or_plan(arguments, OPT_CIPHERS, plan->ciphers),
        .insecure = arguments_has(arguments, OPT_NO_CHECK_CERTIFICATE) || plan->insecure,
    };
    if (tls->key && !tls->cert) {
        faults_error(faults, PLACE_NONE, "name the certificate with --cert", "--key needs --cert");
        return false;
    }
    if (tls_key_log_file())
        faults_warning(faults, PLACE_NONE, NULL,
                       "SSLKEYLOGFILE is set: the secrets of all connections go to %s",
                       tls_key_log_file());
    bool tried = tls->cacert || tls->cert || tls->ciphers || tls_key_log_file();
    return !tried || try_tls(tls, faults);
}

static void set_http(const struct arguments *arguments, struct client_options *client)
{
    static const enum http_version versions[] = {HTTP_1_1, HTTP_2, HTTP_2_PRIOR};
    const struct option_value *http = &arguments->options[OPT_HTTP];
    const struct option_value *connections = &arguments->options[OPT_CONNECTIONS];
    const struct option_value *timeout = &arguments->options[OPT_CONNECT_TIMEOUT];

    client->http = http->times ? versions[http->whole] : HTTP_ANY;
    client->connections = connections->times ? (unsigned)connections->whole : 1;
    client->connect_timeout_ns = timeout->times ? amount_of_seconds(timeout->number) : 0;
}

typedef const char *(*add_override)(struct dns_overrides *overrides, struct str text);

static bool add_overrides(const struct arguments *arguments, enum option_id id, add_override add,
                          struct wire *wire, struct faults *faults)
{
    const struct option_value *value = &arguments->options[id];
    bool good = true;

    for (size_t i = 0; i < value->n; i++) {
        const char *why = add(&wire->overrides, value->items[i]);

        if (why)
            faults_error(faults, PLACE_NONE, NULL, "%s: '%.*s': %s", option_table[id].name,
                         (int)value->items[i].n, value->items[i].p, why);
        good &= why == NULL;
    }
    return good;
}

static bool set_resolver(const struct arguments *arguments, struct wire *wire,
                         struct client_options *client, struct faults *faults)
{
    client->resolver = (struct resolver_options){
        .family = arguments_has(arguments, OPT_IPV4)   ? DNS_IPV4
                  : arguments_has(arguments, OPT_IPV6) ? DNS_IPV6
                                                       : DNS_ANY_FAMILY,
        .overrides = &wire->overrides,
    };
    return add_overrides(arguments, OPT_RESOLVE, dns_overrides_resolve, wire, faults) &&
           add_overrides(arguments, OPT_CONNECT_TO, dns_overrides_connect_to, wire, faults);
}

static bool set_proxies(const struct arguments *arguments, struct wire *wire,
                        struct client_options *client, struct faults *faults)
{
    struct buf error;

    buf_init(&error, 4096);
    wire->has_proxies = proxies_init(&wire->proxies, text_of(arguments, OPT_PROXY),
                                     text_of(arguments, OPT_NO_PROXY), getenv, &error);
    if (!wire->has_proxies)
        faults_error(faults, PLACE_NONE, NULL, "%.*s", (int)error.n, error.p);
    buf_fini(&error);
    client->proxies = wire->has_proxies ? &wire->proxies : NULL;
    return wire->has_proxies;
}

static bool set_unix_socket(const char *path, struct wire *wire, struct client_options *client,
                            struct faults *faults)
{
    struct sockaddr_un *name;

    if (!path)
        return true;
    if (!*path) {
        faults_error(faults, PLACE_NONE, NULL, "--unix-socket: a path is missing");
        return false;
    }
    if (strlen(path) >= sizeof(name->sun_path)) {
        faults_error(faults, PLACE_NONE, NULL, "--unix-socket: a path has at most %zu bytes",
                     sizeof(name->sun_path) - 1);
        return false;
    }
    wire->address = xcalloc(1, sizeof(*wire->address) + sizeof(struct address));
    wire->address->n = 1;
    wire->address->list[0].length = sizeof(*name);
    name = (struct sockaddr_un *)&wire->address->list[0].storage;
    name->sun_family = AF_UNIX;
    strcpy(name->sun_path, path);
    client->address = wire->address;
    return true;
}

/* False only if it is certain that nothing can be sent from there. */
static bool is_of_this_machine(const struct address *address)
{
    int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is = fd < 0 ||
              bind(fd, (const struct sockaddr *)&address->storage, address->length) == 0 ||
              errno != EADDRNOTAVAIL;

    if (fd >= 0)
        close(fd);
    return is;
}

static bool set_local(const struct option_value *local, struct wire *wire,
                      struct client_options *client, struct faults *faults)
{
    if (!local->times)
        return true;
    wire->local = xcalloc(1, sizeof(*wire->local) + local->n * sizeof(struct address));
    for (size_t i = 0; i < local->n; i++) {
        struct address *address = &wire->local->list[wire->local->n++];
        struct str text = local->items[i];

        if (!address_parse(text, address)) {
            faults_error(faults, PLACE_NONE, "an address looks like 10.0.0.2 or fd00::2",
                         "--local-address: '%.*s' is not an address", (int)text.n, text.p);
            return false;
        }
        if (!is_of_this_machine(address)) {
            faults_error(faults, PLACE_NONE, NULL,
                         "--local-address: this machine does not have the address %.*s",
                         (int)text.n, text.p);
            return false;
        }
    }
    client->local = wire->local;
    return true;
}

bool wire_make(const struct arguments *arguments, const struct plan *plan, struct wire *wire,
               struct client_options *client, struct faults *faults)
{
    *wire = (struct wire){0};
    dns_overrides_init(&wire->overrides);
    set_http(arguments, client);
    return set_tls(arguments, &plan->tls, wire, &client->tls, faults) &&
           set_resolver(arguments, wire, client, faults) &&
           set_proxies(arguments, wire, client, faults) &&
           set_unix_socket(text_of(arguments, OPT_UNIX_SOCKET), wire, client, faults) &&
           set_local(&arguments->options[OPT_LOCAL_ADDRESS], wire, client, faults);
}

void wire_fini(struct wire *wire)
{
    if (wire->key_password)
        explicit_bzero(wire->key_password, strlen(wire->key_password));
    free(wire->key_password);
    dns_overrides_fini(&wire->overrides);
    if (wire->has_proxies)
        proxies_fini(&wire->proxies);
    free(wire->address);
    free(wire->local);
}
