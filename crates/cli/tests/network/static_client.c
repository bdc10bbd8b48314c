/* A client that is its own resolver: asks the first name server of /etc/resolv.conf by UDP, connects
 * to the address that it is given, and prints what an HTTP server says. Uses no resolver of the C
 * library and no variable; a dotted address is taken as it is. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void name_server(struct sockaddr_in *server) {
    char line[256], address[64];
    FILE *file = fopen("/etc/resolv.conf", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "nameserver %63s", address) == 1 &&
            inet_pton(AF_INET, address, &server->sin_addr) == 1)
            return;
    fprintf(stderr, "no name server\n");
    exit(1);
}

static struct in_addr resolve(const char *name) {
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(53)};
    struct in_addr address;
    if (inet_pton(AF_INET, name, &address) == 1)
        return address;
    name_server(&server);
    unsigned char query[512] = {0x12, 0x34, 1, 0, 0, 1}, answer[1500];
    size_t at = 12;
    for (const char *label = name; *label;) {
        size_t length = strcspn(label, ".");
        query[at++] = (unsigned char)length;
        memcpy(query + at, label, length);
        at += length;
        label += length + (label[length] == '.');
    }
    memcpy(query + at, "\0\0\1\0\1", 5);
    at += 5;
    int asking = socket(AF_INET, SOCK_DGRAM, 0);
    struct timeval patience = {.tv_sec = 10};
    setsockopt(asking, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(asking, (struct sockaddr *)&server, sizeof server) || write(asking, query, at) < 0)
        fail("ask");
    ssize_t length = read(asking, answer, sizeof answer);
    if (length < 16)
        fail("answer");
    if ((answer[3] & 15) != 0 || answer[7] == 0) {
        fprintf(stderr, "no such name, code %d\n", answer[3] & 15);
        exit(1);
    }
    memcpy(&address, answer + length - 4, 4);
    for (ssize_t place = (ssize_t)at; place + 16 <= length; place++)
        if (memcmp(answer + place, "\0\1\0\1", 4) == 0 && answer[place + 9] == 4) {
            memcpy(&address, answer + place + 10, 4);
            break;
        }
    return address;
}

int main(int count, char **words) {
    if (count != 3)
        return 2;
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(words[2]))};
    peer.sin_addr = resolve(words[1]);
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(connection, (struct sockaddr *)&peer, sizeof peer))
        fail("connect");
    char text[4096];
    int length = snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n\r\n",
                          words[1], words[2]);
    if (write(connection, text, (size_t)length) != length)
        fail("request");
    ssize_t got, all = 0;
    while ((got = read(connection, text, sizeof text)) > 0)
        all += fwrite(text, 1, (size_t)got, stdout);
    if (got < 0)
        fail("read");
    return all == 0;
}
