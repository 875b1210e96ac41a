package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.gateway.forwarding.ForwardingSettings;
import io.kvasir.gateway.forwarding.ReservedFields;
import io.kvasir.gateway.forwarding.ReservedFields.Action;
import io.kvasir.gateway.forwarding.ServedPaths;
import io.kvasir.gateway.forwarding.TrustedProxies;
import io.kvasir.http.client.ScriptedPod;
import java.io.File;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What only the router may say to an engine, with the names that are reserved unless configured otherwise. */
final class ReservedFieldsTest {
  private static final JsonMapper JSON = new JsonMapper();
  private static final String KEPT = "\"model\":\"m\",\"prompt\":\"say kv_transfer_params\",\"x\":{\"priority\":1.50}";

  private ScriptedPod pod;
  private TestRouter router;

  @BeforeEach
  void start() throws IOException {
    pod = new ScriptedPod((request, out) -> out.json(200, "{}"));
    router = router(Action.REMOVE);
  }

  @AfterEach
  void stop() {
    router.close();
    pod.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {
      "\"kv_transfer_params\":{\"remote_host\":\"10.0.0.66\",\"remote_block_ids\":[1]}",
      "\"kv_transfer_params\":null",
      "\"kv_transfer\\u005fparams\":{}",
      "\"kv_transfer_params\":1,\"kv_transfer_params\":{},\"\\u006bv_transfer_params\":2",
      "\"bootstrap_host\":\"10.0.0.66\",\"bootstrap_port\":1,\"bootstrap_room\":7",
      "\"kv_hints\":{\"protocol_version\":\"0.1\",\"message_id\":\"m\",\"actions\":[{\"action_id\":\"a\","
          + "\"action_type\":\"kv.retain\",\"action_version\":\"1.0\",\"payload\":{}}]}",
      "\"disaggregated_params\":{\"request_type\":\"generation_only\"}",
      "\"disagg_prefill_dp_rank\":0,\"data_parallel_rank\":1,\"routed_dp_rank\":2",
      "\"priority\":-5"
  })
  void removed_whereverTheyStand_restIsAsItCame(String reserved) throws Exception {
    for (String path : List.of(
        "/v1/completions", "/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/embeddings", "/tokenize",
        "/generate", "/inference/v1/generate", "/v1/rerank")) {
      for (String body : List.of(
          "{" + reserved + "," + KEPT + "}", "{" + KEPT + "," + reserved + "}")) {
        assertThat(router.post(path, body).statusCode()).as(path).isEqualTo(200);

        assertThat(pod.next().text()).as("%s %s", path, body).isEqualTo("{" + KEPT + "}");
      }
    }
    assertThat(router.metric("kvasir_reserved_fields_removed_total", "completions")).isEqualTo(2);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "'vllm_xargs':{'a':1,'kv_transfer_params':'x'} | 'vllm_xargs':{'a':1}",
      "'sampling_params':{'n':1,'extra_args':{'kv_transfer_params':{},'b':2}} "
          + "| 'sampling_params':{'n':1,'extra_args':{'b':2}}",
      "'bootstrap_host':'x','stream':true | 'stream':true"
  })
  void removed_nested_neighboursStay(String sent, String received) throws Exception {
    router.post("/v1/completions", ("{" + sent + "," + KEPT + "}").replace('\'', '"'));

    assertThat(pod.next().text()).isEqualTo(("{" + received + "," + KEPT + "}").replace('\'', '"'));
  }

  @Test
  void absent_bodyIsTheClientsOwnBytes() throws Exception {
    String body = "{ \"model\" : \"m\",\n \"prompt\":\"bootstrap_host \\u0041\" , \"x\": {\"priority\": 1e2} }";
    router.post("/v1/completions", body);

    assertThat(pod.next().text()).isEqualTo(body);
  }

  @Test
  void removed_withUsageInjected_isOneObject() throws Exception {
    router.close();
    Config conf = conf();
    router = new TestRouter(TestRouter.EXECUTION, new GatewaySettings("http", true, null)
        .with(settings(conf, Action.REMOVE)));
    router.cells.worker("w0", pod.url(), "m");
    router.post("/v1/completions", "{\"model\":\"m\",\"stream\":true,\"prompt\":\"x\",\"priority\":1}");

    JsonNode received = JSON.readTree(pod.next().text());
    assertThat(received.fieldNames()).toIterable().containsExactly("model", "stream", "prompt", "stream_options");
  }

  @Test
  void headers_reserved_areRemoved() throws Exception {
    router.post("/v1/completions", "{" + KEPT + "}",
        "X-Data-Parallel-Rank", "3", "x-data-parallel-host-port", "10.0.0.66:1", "X-Prefiller-Host-Port", "10.0.0.66:1",
        "x-encoder-hosts-ports", "h:1", "X-Gateway-Destination-Endpoint", "10.0.0.66:1",
        "x-gateway-destination-endpoint-served", "10.0.0.66:1", "x-kv-cache-source-host-port", "h:1",
        "X-Vllm-Priority", "-1", "x-smg-priority", "system", "x-dynamo-request-priority", "9", "X-Own", "stays");

    String names = pod.next().headers().toString().toLowerCase(Locale.ROOT);
    assertThat(names).contains("x-own: stays")
        .doesNotContain("parallel", "prefiller", "encoder", "gateway-destination", "kv-cache", "priority");
  }

  @Test
  void refused_byChoice_namesTheField() throws Exception {
    router.close();
    router = router(Action.REFUSE);

    HttpResponse<String> body =
        router.post("/v1/completions", "{" + KEPT + ",\"vllm_xargs\":{\"kv_transfer_params\":1}}");
    HttpResponse<String> header = router.post("/v1/messages", "{" + KEPT + "}", "X-data-parallel-rank", "1");

    assertThat(body.statusCode()).isEqualTo(400);
    assertThat(JSON.readTree(body.body()).at("/error/param").textValue()).isEqualTo("vllm_xargs.kv_transfer_params");
    assertThat(header.statusCode()).isEqualTo(400);
    assertThat(JSON.readTree(header.body()).at("/error/message").textValue()).contains("X-data-parallel-rank");
    assertThat(pod.seen).isEmpty();
  }

  @Test
  void allowed_byChoice_pass() throws Exception {
    router.close();
    router = router(Action.ALLOW);
    String body = "{" + KEPT + ",\"bootstrap_room\":1}";
    router.post("/v1/completions", body, "X-data-parallel-rank", "1");

    ScriptedPod.ReceivedRequest received = pod.next();
    assertThat(received.text()).isEqualTo(body);
    assertThat(received.headers().first("X-data-parallel-rank")).isEqualTo("1");
  }

  @Test
  void reserved_inAnotherEncoding_isRefused() throws Exception {
    byte[] body = ("{" + KEPT + ",\"bootstrap_room\":1}").getBytes(StandardCharsets.UTF_16BE);
    HttpResponse<String> response = router.client().send(
        HttpRequest.newBuilder(router.url("/v1/completions")).POST(BodyPublishers.ofByteArray(body))
            .build(),
        BodyHandlers.ofString());

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(pod.seen).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"{\"bootstrap_room\":1,\"x\":NaN}", "[{\"bootstrap_room\":1}]", "{\"bootstrap_room\":1} x"})
  void jsonThatOnlyAnEngineWouldRead_isRefusedWhereItTakesJson(String body) throws Exception {
    for (String path : List.of("/generate", "/inference/v1/generate", "/v1/rerank", "/score", "/tokenize")) {
      assertThat(router.post(path, body, "Content-Type", "text/plain").statusCode()).as(path).isEqualTo(400);
    }
    assertThat(pod.seen).isEmpty();
  }

  @Test
  void jsonThatOnlyAnEngineWouldRead_isRefusedWhereOtherBodiesPass() throws Exception {
    String lenient = "{\"bootstrap_room\":1,\"x\":NaN}";
    String[] json = {"Content-Type", "application/json"};
    assertThat(router.post("/v1/images/generations", lenient, json).statusCode()).isEqualTo(400);
    String strict = "{\"bootstrap_room\":1,\"model\":\"m\"}";
    assertThat(router.post("/v1/audio/speech", strict, json).statusCode()).isEqualTo(200);
    assertThat(pod.next().text()).isEqualTo("{\"model\":\"m\"}");
    assertThat(router.post("/v1/images/edits", "--b--", "Content-Type", "multipart/form-data; boundary=b")
        .statusCode()).isEqualTo(200);
  }

  private TestRouter router(Action action) throws IOException {
    TestRouter started =
        new TestRouter(TestRouter.EXECUTION, GatewaySettings.defaults().with(settings(conf(), action)));
    started.cells.worker("w0", pod.url(), "m");
    return started;
  }

  private static Config conf() {
    return ConfigFactory.parseFile(new File("conf/defaults/gateway.conf"))
        .getConfig("kvasir.gateway.reserved-fields");
  }

  private static ForwardingSettings settings(Config reserved, Action action) {
    return new ForwardingSettings(
        ServedPaths.INFERENCE,
        new ReservedFields(action, reserved.getStringList("body"), reserved.getStringList("headers")),
        TrustedProxies.NONE,
        true);
  }
}
