package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.gateway.forwarding.ForwardingSettings;
import io.kvasir.gateway.forwarding.ReservedFields;
import io.kvasir.gateway.forwarding.ServedPaths;
import io.kvasir.gateway.forwarding.TrustedProxies;
import io.kvasir.http.client.ScriptedPod;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Paths of engines besides chats: each goes, as it came, to a worker of its model. */
final class PassingPathsTest {
  private static final String FORM = "multipart/form-data; boundary=\"x y\"";

  private TestRouter router;
  private ScriptedPod chats;
  private ScriptedPod speech;

  @BeforeEach
  void start() throws IOException {
    chats = new ScriptedPod((request, out) -> out.json(200, "{\"by\":\"chats\"}"));
    speech = new ScriptedPod((request, out) -> out.json(200, "{\"by\":\"speech\"}"));
    router = new TestRouter(
        TestRouter.EXECUTION,
        GatewaySettings.defaults().with(new ForwardingSettings(
            new ServedPaths(List.of("/v1/files", "/v1/files/*", "/v1/batches", "/v1/batches/*")), ReservedFields.none(),
            TrustedProxies.NONE, true)));
    router.cells.worker("w0", chats.url(), "a-chat");
    router.cells.worker("w1", speech.url(), "speech");
  }

  @AfterEach
  void stop() {
    router.close();
    chats.close();
    speech.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {
      "/tokenize", "/v1/tokenize", "/detokenize", "/v1/detokenize", "/rerank", "/v1/rerank", "/v2/rerank", "/score",
      "/v1/score", "/classify", "/v1/classify", "/pooling", "/v1/embeddings", "/encode", "/v2/embed",
      "/v1/audio/speech", "/v1/images/generations", "/v1/batches", "/v1/chat/completions/batch", "/v1/systemone",
      "/generative_scoring", "/v1/responses/render", "/v1/messages/render", "/v1/chat/completions/derender"})
  void json_goesToAWorkerOfItsModel(String path) throws Exception {
    String body = "{\"input\": \"x\",  \"model\":\"speech\"}";
    HttpResponse<String> answer = router.post(path, body, "Content-Type", "application/json");
    assertThat(answer.body()).isEqualTo("{\"by\":\"speech\"}");
    assertThat(answer.headers().firstValue("X-Router-Backend")).contains("w1");
    ScriptedPod.ReceivedRequest received = speech.next();
    assertThat(received.target()).isEqualTo(path);
    assertThat(received.text()).isEqualTo(body);
  }

  @ParameterizedTest
  @ValueSource(strings = {
      "/v1/audio/transcriptions", "/v1/audio/translations", "/v1/images/edits", "/v1/images/variations", "/v1/files"})
  void form_goesToAWorkerOfItsModel_asItCame(String path) throws Exception {
    byte[] audio = new byte[300_000];
    new Random(3).nextBytes(audio);
    byte[] form = form(
        part("name=\"file\"; filename=\"a.wav\"", "Content-Type: audio/wav", audio),
        part("name=\"model\"", "Content-Type: text/plain", " speech ".getBytes(StandardCharsets.UTF_8)),
        part("name=\"language\"", "X: y", "en".getBytes(StandardCharsets.UTF_8)));
    HttpResponse<String> answer = send(path, FORM, form);
    assertThat(answer.body()).isEqualTo("{\"by\":\"speech\"}");
    ScriptedPod.ReceivedRequest received = speech.next();
    assertThat(received.body()).isEqualTo(form);
    assertThat(received.headers().first("Content-Type")).isEqualTo(FORM);
  }

  @Test
  void modelInAFile_isNotTheForms() throws Exception {
    byte[] file = "--z\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\na-chat\r\n--z--\r\n"
        .getBytes(StandardCharsets.US_ASCII);
    byte[] form = form(
        part("name=\"file\"; filename=\"name=model\"", "Content-Type: audio/wav", file),
        part("name=model", "X: y", "speech".getBytes(StandardCharsets.UTF_8)));
    assertThat(send("/v1/audio/transcriptions", FORM, form).body()).isEqualTo("{\"by\":\"speech\"}");
  }

  @Test
  void formWithoutModel_goesToTheFirst() throws Exception {
    byte[] form = form(part("name=\"file\"; filename=\"a\"", "Content-Type: audio/wav", new byte[10]));
    assertThat(send("/v1/audio/transcriptions", FORM, form).body()).isEqualTo("{\"by\":\"chats\"}");
    assertThat(send("/v1/audio/transcriptions", FORM, "--x y--\r\n".getBytes(StandardCharsets.US_ASCII)).body())
        .isEqualTo("{\"by\":\"chats\"}");
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "multipart/form-data|--b~~",
      "multipart/form-data; boundary=b|no form",
      "multipart/form-data; boundary=b|--b~Content-Disposition: form-data; name=\"model\"~~speech",
      "multipart/form-data; boundary=b|--b~Content-Disposition: form-data; name=\"model\"",
      "multipart/form-data; boundary=b|--b~Content-Disposition: form-data; name=\"mo\\del\"~~speech~--b--~",
      "multipart/form-data; boundary=b|--b~Content-Disposition: form-data; name=\"model\"~~speech~--b~"
          + "Content-Disposition: form-data; name=\"model\"~~a-chat~--b--~",
      "multipart/form-data; boundary=b|--b~Content-Disposition: form-data; a=\"; name=x; b\"; name=model; name=y"
          + "~~speech~--b--~",
      "multipart/form-data; boundary=b|--b~Content-Disposition: form-data; name*=utf-8''model~~speech~--b--~",
      "multipart/form-data; boundary=b|--b~Content-Disposition: form-data; name=x~"
          + "Content-Disposition: form-data; name=model~~speech~--b--~",
      "multipart/form-data; boundary=b; boundary=c|--b~Content-Disposition: form-data; name=model~~speech~--b--~",
      "multipart/form-data; a=\"; boundary=b; c\"; boundary=c|--b~Content-Disposition: form-data; name=model"
          + "~~speech~--b--~"
  })
  void formThatEnginesMayReadOtherwise_isRefused(String type, String form) throws Exception {
    HttpResponse<String> answer =
        send("/v1/audio/transcriptions", type, form.replace("~", "\r\n").getBytes(StandardCharsets.US_ASCII));
    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(answer.body()).contains("invalid_form");
    assertThat(speech.seen).isEmpty();
    assertThat(chats.seen).isEmpty();
  }

  @Test
  void nameInAnotherParameter_isNone() throws Exception {
    String form = "--b~Content-Disposition: form-data; filename=\"; name=x; .wav\"; name=model~~speech~--b--~";
    send(
        "/v1/audio/transcriptions", "multipart/form-data; boundary=b",
        form.replace("~", "\r\n").getBytes(StandardCharsets.US_ASCII));
    assertThat(speech.seen).hasSize(1);
    assertThat(chats.seen).isEmpty();
  }

  @Test
  void modelById_isTheRoutersOwnAnswer() throws Exception {
    assertThat(router.get("/v1/models/speech").body()).contains("\"id\":\"speech\"");
    assertThat(router.get("/v1/models/none").statusCode()).isEqualTo(404);
    assertThat(speech.seen).isEmpty();
  }

  private HttpResponse<String> send(String path, String type, byte[] form) throws IOException, InterruptedException {
    return router.client().send(
        HttpRequest.newBuilder(router.url(path)).header("Content-Type", type)
            .POST(BodyPublishers.ofByteArray(form)).build(),
        BodyHandlers.ofString());
  }

  private static byte[] part(String disposition, String header, byte[] content) {
    ByteArrayOutputStream part = new ByteArrayOutputStream();
    part.writeBytes(("--x y\r\n" + header + "\r\ncontent-disposition: form-data; " + disposition + "\r\n\r\n")
        .getBytes(StandardCharsets.UTF_8));
    part.writeBytes(content);
    part.writeBytes("\r\n".getBytes(StandardCharsets.US_ASCII));
    return part.toByteArray();
  }

  private static byte[] form(byte[]... parts) {
    ByteArrayOutputStream form = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      form.writeBytes(part);
    }
    form.writeBytes("--x y--\r\n".getBytes(StandardCharsets.US_ASCII));
    return form.toByteArray();
  }
}
