"""The start of many users at once: connections come first, and a few at a time."""
import selectors
import socket

USERS = 300
KNOCKING = 128  # CLIENT_KNOCKING_MAX
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """Accepts at the test's word, in the test's thread; its queue holds all the users."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.listener.setblocking(False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.connections = set()
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"

    def accept_all(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except BlockingIOError:
                return
            self.selector.register(connection, selectors.EVENT_READ)
            self.connections.add(connection)

    def wait(self):
        """The connections that have something to be read."""
        ready = [key.fileobj for key, _ in self.selector.select(timeout=20)]
        assert ready, "nothing came in 20 seconds"
        if self.listener in ready:
            self.accept_all()
        return [one for one in ready if one is not self.listener]

    def close(self):
        for one in (*self.connections, self.listener, self.selector):
            one.close()


def test_most_connections_are_there_before_the_first_request(launch):
    server = Server()
    process = launch("run", server.url, "-p", USERS, "-i", USERS, "--quiet")
    while not (ready := server.wait()):
        pass
    server.accept_all()
    assert USERS - KNOCKING < len(server.connections) <= USERS
    answered, heads = 0, {}
    while answered < USERS:
        for one in ready:
            heads[one] = heads.get(one, b"") + one.recv(65536)
            if heads[one].endswith(b"\r\n\r\n"):
                one.sendall(ANSWER)
                heads[one] = b""
                answered += 1
        ready = server.wait() if answered < USERS else []
    assert process.wait(20) == 0
    server.close()


def test_a_server_that_does_not_answer_gets_all_connections(launch):
    server = Server()
    process = launch("run", server.url, "-p", USERS, "-i", USERS, "--quiet", "--timeout", 50)
    while len(server.connections) < USERS:
        server.wait()
    process.terminate()
    assert process.wait(20) == 143
    server.close()
