package io.kvasir.http.server;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** A client that sends exactly what it is told and shows exactly what comes back. */
final class RawClient implements AutoCloseable {
  private final Socket socket;
  private final InputStream in;

  RawClient(InetSocketAddress address) throws IOException {
    this(new Socket(address.getAddress(), address.getPort()));
  }

  RawClient(Socket socket) throws IOException {
    this.socket = socket;
    socket.setSoTimeout(60_000);
    socket.setTcpNoDelay(true);
    in = socket.getInputStream();
  }

  Socket socket() {
    return socket;
  }

  RawClient send(String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
    socket.getOutputStream().flush();
    return this;
  }

  /** Up to and with {@code end}, or what came before the connection ended. */
  String readTo(String end) throws IOException {
    StringBuilder text = new StringBuilder();
    while (text.indexOf(end, Math.max(0, text.length() - end.length())) < 0) {
      int c = in.read();
      if (c < 0) {
        break;
      }
      text.append((char) c);
    }
    return text.toString();
  }

  String head() throws IOException {
    return readTo("\r\n\r\n");
  }

  /** One answer with a Content-Length: its head and body. */
  String answer() throws IOException {
    String head = head();
    int at = head.indexOf("Content-Length: ");
    int length = at < 0 ? 0 : Integer.parseInt(head.substring(at + 16, head.indexOf('\r', at)));
    return head + new String(in.readNBytes(length), StandardCharsets.ISO_8859_1);
  }

  /** Everything until the connection ends. */
  String rest() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    in.transferTo(bytes);
    return bytes.toString(StandardCharsets.ISO_8859_1);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
