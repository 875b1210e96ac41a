package io.kvasir.http.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
final class CodedBodyTest extends HttpServerFixture {
  private static final String BODY = "{\"model\":\"m\",\"prompt\":\"" + "tell me more, ".repeat(3000) + "\"}";

  private interface Coder {
    OutputStream over(OutputStream to) throws IOException;
  }

  @ParameterizedTest
  @ValueSource(strings = {"gzip", "GZIP", "x-gzip", "deflate"})
  void codedBody_arrivesDecoded(String coding) throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo));
    Coder coder = coding.equals("deflate") ? DeflaterOutputStream::new : GZIPOutputStream::new;
    byte[] coded = coded(BODY, coder);
    assertThat(client.send(post(coding, coded)).answer()).endsWith("POST /b " + BODY);
    assertThat(client.send(get("/next", "")).answer()).endsWith("GET /next ");
  }

  @Test
  void decodedBody_isNotCalledCoded() throws Exception {
    BlockingQueue<String> headers = new LinkedBlockingQueue<>();
    HttpServer server =
        serve(
            exchange -> {
              headers.add(exchange.headers().toString());
              return echo(exchange);
            });
    client(server).send(post("gzip", coded("abc", GZIPOutputStream::new))).answer();
    assertThat(headers.take()).contains("Content-Length: 3").doesNotContainIgnoringCase("content-encoding");
  }

  @Test
  void chunkedCodedBody_arrivesDecoded() throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo));
    client.send("POST /b HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n");
    byte[] coded = coded(BODY, GZIPOutputStream::new);
    for (byte each : coded) {
      client.send("1\r\n" + (char) (each & 0xff) + "\r\n");
    }
    assertThat(client.send("0\r\n\r\n").answer()).endsWith("POST /b " + BODY);
  }

  @ParameterizedTest
  @ValueSource(strings = {"br", "zstd", "gzip, gzip", "gzip\r\nContent-Encoding: gzip", "x"})
  void otherCodings_are415(String coding) throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo));
    assertThat(client.send(post(coding, "abc".getBytes(UTF_8))).answer())
        .startsWith("HTTP/1.1 415 ")
        .contains("Accept-Encoding: gzip, deflate, identity\r\n", "accepted are gzip, deflate");
    assertThat(client.send(get("/next", "Content-Encoding: br\r\n")).answer()).endsWith("GET /next ");
  }

  @Test
  void bodyThatIsNotCoded_is400() throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo));
    assertThat(client.send(post("gzip", "this is no gzip".getBytes(UTF_8))).answer())
        .startsWith("HTTP/1.1 400 ").contains("Content-Encoding");
    RawClient cut = client(serve(HttpServerFixture::echo));
    byte[] coded = coded(BODY, GZIPOutputStream::new);
    byte[] half = Arrays.copyOf(coded, coded.length / 2);
    assertThat(cut.send(post("gzip", half)).answer()).startsWith("HTTP/1.1 400 ").contains("Content-Encoding");
  }

  @Test
  void decodedBodyBeyondTheLimit_is413() throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo, settings().withMaxBodyBytes(1000)));
    assertThat(client.send(post("gzip", coded(BODY, GZIPOutputStream::new))).answer())
        .startsWith("HTTP/1.1 413 ").contains("limit of 1000 bytes");
  }

  @Test
  void bomb_is413() throws Exception {
    byte[] bomb = coded("\0".repeat(60 << 20), GZIPOutputStream::new);
    assertThat(bomb).hasSizeLessThan(100_000);
    RawClient client = client(serve(HttpServerFixture::echo));
    assertThat(client.send(post("gzip", bomb)).rest()).startsWith("HTTP/1.1 413 ").contains("100 times");
  }

  private static byte[] coded(String text, Coder coder) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (OutputStream out = coder.over(bytes)) {
      out.write(text.getBytes(UTF_8));
    }
    return bytes.toByteArray();
  }

  private static String post(String coding, byte[] body) {
    return "POST /b HTTP/1.1\r\nHost: x\r\nContent-Encoding: " + coding + "\r\nContent-Length: " + body.length
        + "\r\n\r\n" + new String(body, ISO_8859_1);
  }
}
