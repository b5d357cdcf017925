"""A proxy of the person's: HTTP, SOCKS 4 and 5; it writes down what it is asked, and answers all itself."""

import socket
import threading


class Proxy:
    """On loopback. ``requests`` is what was asked of it, a line each; behind it everything says hello.

    ``status`` is what it answers to CONNECT; it goes on listening for requests, whatever that is.
    """

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.status = 200
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._server.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            with client, client.makefile("rwb", buffering=0) as stream:
                client.settimeout(20)
                first = client.recv(1, socket.MSG_PEEK)
                if first == b"\5":
                    self._socks5(stream)
                elif first == b"\4":
                    self._socks4(stream)
                else:
                    self._http(stream)
                client.shutdown(socket.SHUT_WR)
                while client.recv(999):
                    pass

    def _http(self, stream: socket.SocketIO) -> None:
        while line := stream.readline():
            if line.strip():
                self.requests.append(line.decode("latin-1").strip())
            while stream.readline().strip():
                pass
            if line.startswith(b"CONNECT"):
                stream.write(b"HTTP/1.1 %d Whatever\r\nContent-Length: 0\r\n\r\n" % self.status)
                if self.status == 200:
                    stream.write(b"hello")
                    return
            else:
                stream.write(b"HTTP/1.1 200 OK\r\n\r\nhello")
                return

    def _socks5(self, stream: socket.SocketIO) -> None:
        methods = stream.read(stream.read(2)[1])
        stream.write(b"\5" + (b"\2" if b"\2" in methods else b"\0"))
        if b"\2" in methods:
            name = stream.read(stream.read(2)[1])
            self.requests.append(f"key {name.decode()} {stream.read(stream.read(1)[0]).decode()}")
            stream.write(b"\1\0")
        kind = stream.read(4)[3]
        host = (
            stream.read(stream.read(1)[0]).decode()
            if kind == 3
            else socket.inet_ntop(
                *(
                    (socket.AF_INET, stream.read(4))
                    if kind == 1
                    else (socket.AF_INET6, stream.read(16))
                )
            )
        )
        self.requests.append(f"socks5 {host}:{int.from_bytes(stream.read(2), 'big')}")
        stream.write(b"\5\0\0\1" + bytes(6) + b"hello")

    def _socks4(self, stream: socket.SocketIO) -> None:
        head = stream.read(8)
        text = b""
        while text.count(b"\0") < 2:
            text += stream.read(1)
        host = text.split(b"\0")[1].decode()
        self.requests.append(f"socks4 {host}:{int.from_bytes(head[2:4], 'big')}")
        stream.write(b"\0\x5a" + bytes(6) + b"hello")
