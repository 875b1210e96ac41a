package io.kvasir.load;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Engines that compute nothing: a fixed JSON answer, or a stream of events at a fixed pace. As cheap as sockets allow,
 * so that a machine's CPU is left for what stands before them.
 *
 * <p>{@code FakeEngines MODEL INTERVAL_MS PORT...}; a port of 0 means any. Prints {@code ports P1 P2 …} when it
 * listens. A request with {@code "stream":true} gets {@code max_tokens} events.
 */
final class FakeEngines {
  private static final Pattern LENGTH = Pattern.compile("\r\ncontent-length: *(\\d+)", Pattern.CASE_INSENSITIVE);
  private static final Pattern MAX_TOKENS = Pattern.compile("\"max_tokens\": *(\\d+)");
  private static final String END = "data: [DONE]\n\n";

  private final String model;
  private final long intervalNanos;
  private final byte[] chat;
  private final byte[] event;
  private final byte[] usage;

  private FakeEngines(String model, int intervalMillis) {
    this.model = model;
    this.intervalNanos = intervalMillis * 1_000_000L;
    String id = "chatcmpl-0123456789abcdef0123456789abcdef";
    String usage =
        "\"usage\":{\"prompt_tokens\":512,\"completion_tokens\":50,\"total_tokens\":562,"
            + "\"prompt_tokens_details\":{\"cached_tokens\":480}}";
    this.chat =
        whole(
            "200 OK",
            "application/json",
            "{\"id\":\"%s\",\"object\":\"chat.completion\",\"created\":1790000000,\"model\":\"%s\","
                    .formatted(id, model)
                + "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\""
                + "A raven told me so. ".repeat(35)
                + "\"},\"logprobs\":null,\"finish_reason\":\"stop\"}],"
                + usage
                + "}");
    String head =
        "data: {\"id\":\"%s\",\"object\":\"chat.completion.chunk\",\"created\":1790000000,\"model\":\"%s\","
            .formatted(id, model);
    this.event =
        chunk(
            head
                + "\"choices\":[{\"index\":0,\"delta\":{\"content\":\" raven\"},\"logprobs\":null,"
                + "\"finish_reason\":null}]}\n\n");
    this.usage = chunk(head + "\"choices\":[]," + usage + "}\n\n" + END);
  }

  public static void main(String[] arguments) throws Exception {
    FakeEngines engines = new FakeEngines(arguments[0], Integer.parseInt(arguments[1]));
    StringBuilder ports = new StringBuilder("ports");
    for (String port : Arrays.asList(arguments).subList(2, arguments.length)) {
      ServerSocket listener = new ServerSocket(Integer.parseInt(port), 4096, InetAddress.getLoopbackAddress());
      ports.append(' ').append(listener.getLocalPort());
      Thread.startVirtualThread(() -> engines.accept(listener));
    }
    System.out.println(ports);
    new CountDownLatch(1).await();
  }

  private void accept(ServerSocket listener) {
    try {
      while (true) {
        Socket socket = listener.accept();
        socket.setTcpNoDelay(true);
        Thread.startVirtualThread(() -> serve(socket));
      }
    } catch (IOException e) {
      System.err.println("accepting failed: " + e);
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      InputStream in = socket.getInputStream();
      OutputStream out = socket.getOutputStream();
      byte[] buffer = new byte[16 << 10];
      int size = 0;
      while (true) {
        int head = endOfHead(buffer, size);
        while (head < 0) {
          buffer = size == buffer.length ? Arrays.copyOf(buffer, size * 2) : buffer;
          int read = in.read(buffer, size, buffer.length - size);
          if (read < 0) {
            return;
          }
          size += read;
          head = endOfHead(buffer, size);
        }
        String text = new String(buffer, 0, head, ISO_8859_1);
        Matcher length = LENGTH.matcher(text);
        int total = head + (length.find() ? Integer.parseInt(length.group(1)) : 0);
        buffer = total > buffer.length ? Arrays.copyOf(buffer, total) : buffer;
        while (size < total) {
          int read = in.read(buffer, size, total - size);
          if (read < 0) {
            return;
          }
          size += read;
        }
        answer(text, buffer, head, total, out);
        if (text.toLowerCase(Locale.ROOT).contains("\r\nconnection: close")) {
          return;
        }
        System.arraycopy(buffer, total, buffer, 0, size - total);
        size -= total;
      }
    } catch (IOException | InterruptedException e) {
      // The router left, which is its good right.
      return;
    }
  }

  private static int endOfHead(byte[] bytes, int size) {
    for (int i = 3; i < size; i++) {
      if (bytes[i] == '\n' && bytes[i - 2] == '\n' && bytes[i - 1] == '\r') {
        return i + 1;
      }
    }
    return -1;
  }

  private void answer(String head, byte[] buffer, int from, int to, OutputStream out)
      throws IOException, InterruptedException {
    String target = head.substring(head.indexOf(' ') + 1, head.indexOf(" HTTP/"));
    if (head.startsWith("POST /v1/")) {
      // What matters stands before the messages, or behind them where a router has rewritten the body.
      String ends =
          new String(buffer, from, Math.min(300, to - from), ISO_8859_1)
              + new String(buffer, Math.max(from, to - 2000), Math.min(2000, to - from), ISO_8859_1);
      if (ends.contains("\"stream\":true")) {
        Matcher tokens = MAX_TOKENS.matcher(ends);
        stream(tokens.find() ? Integer.parseInt(tokens.group(1)) : 50, out);
      } else {
        out.write(chat);
      }
      return;
    }
    switch (target) {
      case "/health", "/health_generate", "/ping" -> out.write(whole("200 OK", "text/plain", ""));
      case "/v1/models" ->
          out.write(
              whole(
                  "200 OK",
                  "application/json",
                  ("{\"object\":\"list\",\"data\":[{\"id\":\"%s\",\"object\":\"model\",\"created\":1790000000,"
                          + "\"owned_by\":\"vllm\",\"root\":\"%s\",\"max_model_len\":131072}]}")
                      .formatted(model, model)));
      case "/version" -> out.write(whole("200 OK", "application/json", "{\"version\":\"0.12.0\"}"));
      case "/metrics" -> out.write(whole("200 OK", "text/plain", "vllm:num_requests_running 0\n"));
      default -> out.write(whole("404 Not Found", "application/json", "{\"detail\":\"Not Found\"}"));
    }
  }

  private void stream(int events, OutputStream out) throws IOException, InterruptedException {
    out.write(
        head("200 OK", "text/event-stream; charset=utf-8", "transfer-encoding: chunked").getBytes(ISO_8859_1));
    long next = System.nanoTime();
    for (int i = 0; i < events; i++) {
      out.write(event);
      next += intervalNanos;
      long wait = next - System.nanoTime();
      if (wait > 0) {
        Thread.sleep(wait / 1_000_000, (int) (wait % 1_000_000));
      }
    }
    out.write(usage);
    out.write("0\r\n\r\n".getBytes(ISO_8859_1));
  }

  private static byte[] whole(String status, String type, String body) {
    return (head(status, type, "content-length: " + body.length()) + body).getBytes(UTF_8);
  }

  private static String head(String status, String type, String framing) {
    return String.join(
        "\r\n", "HTTP/1.1 " + status, "server: uvicorn", "content-type: " + type, framing, "", "");
  }

  private static byte[] chunk(String text) {
    return (Integer.toHexString(text.length()) + "\r\n" + text + "\r\n").getBytes(UTF_8);
  }
}
