package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.access.Authentication;
import io.kvasir.access.CacheSalts;
import io.kvasir.access.Caller;
import io.kvasir.access.Grants;
import io.kvasir.access.Isolation;
import io.kvasir.access.Limits;
import io.kvasir.admission.ServiceClass;
import io.kvasir.http.Headers;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.telemetry.AccessLog;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What callers may do, and what keeps them apart, over real sockets. */
final class CallersTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final CacheSalts SALTS = new CacheSalts("0123456789abcdef".getBytes(StandardCharsets.UTF_8));
  private static final String CHAT = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}";
  private static final String ANSWER = """
      {"id":"resp_1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],
       "usage":{"prompt_tokens":40,"completion_tokens":2}}""";
  private static final String STREAM = """
      data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}

      data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

      data: {"id":"c1","model":"m","choices":[],"usage":{"prompt_tokens":40,"completion_tokens":2}}

      data: [DONE]

      """;

  private TestRouter router;
  private ScriptedPod pod;

  @BeforeEach
  void start() throws IOException {
    Map<String, Caller> callers = Map.of(
        "plain", caller("plain", "blue", grants(Set.of(), Set.of(), null, Isolation.NONE)),
        "m-only", caller("m-only", "blue", grants(Set.of("m", "x-*"), Set.of("chat"), "least-loaded", Isolation.NONE)),
        "m-any-api", caller("m-any-api", "blue", grants(Set.of("m", "x-*"), Set.of(), null, Isolation.NONE)),
        "blue-1", caller("blue-1", "blue", grants(Set.of(), Set.of(), null, new Isolation.Tenant())),
        "blue-2", caller("blue-2", "blue", grants(Set.of(), Set.of(), null, new Isolation.Tenant())),
        "red", caller("red", "red", grants(Set.of(), Set.of(), null, new Isolation.Tenant())),
        "operator", caller("operator", "ops", Grants.ALL));
    GatewayAccess access =
        new GatewayAccess(headers -> authenticated(callers, headers), SALTS, null, AccessLog.off());
    router = new TestRouter(access, null);
    pod = new ScriptedPod((request, out) -> {
      if (request.text().contains("\"stream\":true")) {
        out.events().chunk(STREAM).end();
      } else {
        out.json(200, ANSWER);
      }
    });
    router.cells.worker("w0", pod.url(), "m");
    router.cells.worker("w1", pod.url(), "other");
  }

  @AfterEach
  void stop() {
    router.close();
    pod.close();
  }

  private static Authentication authenticated(Map<String, Caller> callers, Headers headers) {
    String key = headers.first("Authorization");
    Caller caller = key == null ? null : callers.get(key.replace("Bearer ", ""));
    return caller == null
        ? new Authentication.Refused(Authentication.Reason.UNKNOWN, "This key is not known.")
        : new Authentication.Accepted(caller);
  }

  private static Caller caller(String id, String tenant, Grants grants) {
    return new Caller(id, tenant, grants, Limits.NONE, Limits.NONE);
  }

  private static Grants grants(Set<String> models, Set<String> apis, @Nullable String profile, Isolation isolation) {
    return new Grants(models, apis, profile, ServiceClass.DEFAULT, 1, isolation, false, false);
  }

  private HttpResponse<String> post(String key, String path, String body) throws Exception {
    return router.post(path, body, "Authorization", "Bearer " + key);
  }

  @ParameterizedTest
  @ValueSource(strings =
      {"/v1/chat/completions", "/v1/messages", "/v1/route", "/v1/models", "/v1/anything", "/nothing"})
  void unknownKey_isRefusedInTheApisShape(String path) throws Exception {
    HttpResponse<String> answer = post("wrong", path, CHAT);

    assertThat(answer.statusCode()).isEqualTo(401);
    assertThat(answer.headers().firstValue("WWW-Authenticate")).contains("Bearer");
    JsonNode error = JSON.readTree(answer.body()).path("error");
    assertThat(error.path("message").asText()).isEqualTo("This key is not known.");
    assertThat(error.path("type").asText())
        .isEqualTo(path.equals("/v1/messages") ? "authentication_error" : "invalid_request_error");
    assertThat(router.cells.requests).isEmpty();
  }

  /** A stranger holds no memory for a body that it announces. */
  @Test
  void unknownKey_isRefusedBeforeItsBody() throws Exception {
    try (Socket socket = router.connect()) {
      socket.getOutputStream().write(
          "POST /v1/chat/completions HTTP/1.1\r\nHost: router\r\nContent-Length: 1000000\r\n\r\n{"
              .getBytes(StandardCharsets.US_ASCII));
      String answer = TestRouter.rest(socket);
      assertThat(answer).startsWith("HTTP/1.1 401 ").contains("invalid_api_key").contains("X-Request-Id: ");
    }
  }

  @Test
  void health_needsNoKey() throws Exception {
    assertThat(router.get("/health").statusCode()).isEqualTo(200);
  }

  @Test
  void models_areThoseOfTheKey() throws Exception {
    assertThat(ids(router.get("/v1/models", "Authorization", "Bearer m-only").body())).containsExactly("m");
    assertThat(ids(router.get("/v1/models", "Authorization", "Bearer plain").body())).containsExactly("m", "other");
    assertThat(router.get("/v1/models/other", "Authorization", "Bearer m-only").statusCode()).isEqualTo(404);
  }

  @Test
  void models_areListedAsTheClientsApiDoes() throws Exception {
    String[] anthropic = {"x-api-key", "none", "Authorization", "Bearer plain", "anthropic-version", "2023-06-01"};
    HttpResponse<String> listed = router.get("/v1/models", anthropic);
    JsonNode list = JSON.readTree(listed.body());
    assertThat(list.path("has_more").asBoolean(true)).isFalse();
    assertThat(list.path("first_id").asText()).isEqualTo("m");
    assertThat(list.path("last_id").asText()).isEqualTo("other");
    assertThat(list.at("/data/0/type").asText()).isEqualTo("model");
    assertThat(list.at("/data/0/display_name").asText()).isEqualTo("m");
    assertThat(Instant.parse(list.at("/data/0/created_at").asText())).isBefore(Instant.now());
    assertThat(listed.headers().firstValue("request-id")).isEqualTo(listed.headers().firstValue("X-Request-Id"));
    JsonNode none = JSON.readTree(router.get("/v1/models/none", anthropic).body());
    assertThat(none.at("/error/type").asText()).isEqualTo("not_found_error");
    assertThat(router.get("/v1/models", "Authorization", "Bearer plain").body()).contains("\"object\":\"list\"");
  }

  @Test
  void anthropicsErrors_nameTheRequest() throws Exception {
    HttpResponse<String> answer = post("wrong", "/v1/messages", CHAT);
    String id = answer.headers().firstValue("request-id").orElseThrow();
    assertThat(JSON.readTree(answer.body()).path("request_id").asText()).isEqualTo(id).isNotEmpty();
    assertThat(post("plain", "/v1/messages", CHAT).headers().firstValue("request-id")).isPresent();
  }

  @Test
  void modelOfOthers_isUnknown() throws Exception {
    HttpResponse<String> answer = post("m-only", "/v1/chat/completions", CHAT.replace("\"m\"", "\"other\""));

    assertThat(answer.statusCode()).isEqualTo(404);
    assertThat(JSON.readTree(answer.body()).at("/error/code").asText()).isEqualTo("model_not_found");
  }

  /** Engines take adapters beside the model, too: one for a request, or a list for a batch. */
  @ParameterizedTest
  @ValueSource(strings = {
      "{'text':'x','lora_path':'other'}", "{'text':['x'],'lora_path':['other']}",
      "{'text':['x','y','z'],'lora_path':[null,'x-1','other']}", "{'text':'x','model':'m','lora_path':'other'}",
      "{'text':'x','model':'m','lora_path':'nowhere'}"
  })
  void adapterOfOthers_isUnknown(String quoted) throws Exception {
    String body = quoted.replace('\'', '"');
    HttpResponse<String> answer = post("m-any-api", "/generate", body);

    assertThat(answer.statusCode()).isEqualTo(404);
    assertThat(JSON.readTree(answer.body()).at("/error/code").asText()).isEqualTo("model_not_found");
    assertThat(router.cells.requests).isEmpty();
    assertThat(post("plain", "/generate", body).statusCode()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {
      "{'text':'x','lora_path':'x-1'}", "{'text':['x','y'],'lora_path':['x-1',null]}", "{'text':'x','lora_path':null}",
      "{'text':'x','lora_path':''}", "{'text':['x'],'lora_path':['m']}"
  })
  void adapterOfTheKeysModels_isForTheEngine(String quoted) throws Exception {
    String body = quoted.replace('\'', '"');
    assertThat(post("m-any-api", "/generate", body).statusCode()).isEqualTo(200);
    assertThat(pod.next().text()).isEqualTo(body);
  }

  @Test
  void apiOfOthers_isForbidden() throws Exception {
    HttpResponse<String> answer = post("m-only", "/v1/completions", "{\"model\":\"m\",\"prompt\":\"x\"}");

    assertThat(answer.statusCode()).isEqualTo(403);
    assertThat(JSON.readTree(answer.body()).at("/error/type").asText()).isEqualTo("permission_error");
    assertThat(answer.body()).contains("chat");
  }

  @Test
  void profile_isTheKeys() throws Exception {
    assertThat(post("m-only", "/v1/chat/completions", CHAT).statusCode()).isEqualTo(200);
    assertThat(router.cells.requests.take().profile()).isEqualTo("least-loaded");
    HttpResponse<String> other = router.post("/v1/chat/completions", CHAT,
        "Authorization", "Bearer m-only", "X-Router-Profile", "random");
    assertThat(other.statusCode()).isEqualTo(400);
    assertThat(other.body()).contains("least-loaded");
  }

  @Test
  void routingDetails_areForKeysThatMaySeeThem() throws Exception {
    HttpResponse<String> plain = post("plain", "/v1/chat/completions", CHAT);
    assertThat(plain.statusCode()).isEqualTo(200);
    assertThat(plain.headers().map().keySet()).noneMatch(name -> name.startsWith("x-router-"));
    assertThat(post("plain", "/v1/route", CHAT).statusCode()).isEqualTo(403);

    assertThat(post("operator", "/v1/chat/completions", CHAT).headers().firstValue("X-Router-Backend")).contains("w0");
    assertThat(post("operator", "/v1/route", CHAT).statusCode()).isEqualTo(200);
  }

  @Test
  void isolatedRequests_haveTheSaltOfTheirGroup() throws Exception {
    post("blue-1", "/v1/chat/completions", CHAT);
    String blue = salt();
    post("blue-2", "/v1/completions", "{\"model\":\"m\",\"prompt\":\"x\"}");
    assertThat(salt()).isEqualTo(blue).isEqualTo(SALTS.salt("tenant blue", null)).hasSize(43);
    post("red", "/v1/chat/completions", CHAT);
    assertThat(salt()).isNotEqualTo(blue);
    for (String path : List.of("/v1/chat/completions/batch", "/v1/systemone", "/generative_scoring")) {
      post("blue-1", path, CHAT);
      assertThat(salt()).as(path).isEqualTo(blue);
    }
    post("plain", "/v1/chat/completions", CHAT);
    assertThat(pod.next().text()).isEqualTo(CHAT);
  }

  /** A client that knows another tenant's salt does not get into its blocks by it. */
  @Test
  void clientsOwnSalt_isReplaced() throws Exception {
    String forged = SALTS.salt("tenant blue", null);
    String body = CHAT.replace("{\"model\"", "{\"cache_salt\":\"x\",\"cache_salt\":\"" + forged + "\",\"model\"");
    post("red", "/v1/chat/completions", body);

    ScriptedPod.ReceivedRequest seen = pod.next();
    assertThat(seen.text()).containsOnlyOnce("cache_salt").doesNotContain(forged);
    assertThat(JSON.readTree(seen.text()).path("cache_salt").asText())
        .isEqualTo(SALTS.salt("tenant red", forged))
        .isNotEqualTo(SALTS.salt("tenant red", null));
  }

  /** A salt is written as UTF-8: between the bytes of another encoding it would be none. */
  @ParameterizedTest
  @ValueSource(strings = {"/v1/chat/completions", "/v1/messages"})
  void isolatedRequest_inAnotherEncoding_isRefused(String path) throws Exception {
    HttpResponse<String> answer =
        router.client().send(
            HttpRequest.newBuilder(router.url(path))
                .header("Authorization", "Bearer blue-1")
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofByteArray(CHAT.getBytes(StandardCharsets.UTF_16BE)))
                .build(),
            BodyHandlers.ofString());

    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(answer.body()).contains("UTF-8");
    assertThat(router.cells.requests).isEmpty();
  }

  /** Engines know no salt on Anthropic's path: isolated callers are served by a chat. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void messages_areIsolatedAsChats(boolean stream) throws Exception {
    String body = """
        {"model":"m","max_tokens":5,"system":"S","messages":[{"role":"user","content":"Hi"}],"stream":%s,
        "thinking":{"type":"disabled"},"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}}"""
        .formatted(stream);
    HttpResponse<String> answer = post("blue-1", "/v1/messages", body);

    ScriptedPod.ReceivedRequest seen = pod.next();
    assertThat(seen.target()).isEqualTo("/v1/chat/completions");
    JsonNode chat = JSON.readTree(seen.text());
    assertThat(chat.path("cache_salt").asText()).isEqualTo(SALTS.salt("tenant blue", null));
    assertThat(chat.at("/messages/0/role").asText()).isEqualTo("system");
    assertThat(chat.path("reasoning_effort").asText()).isEqualTo("none");
    assertThat(chat.at("/response_format/json_schema/schema/type").asText()).isEqualTo("object");
    assertThat(answer.statusCode()).isEqualTo(200);
    if (stream) {
      assertThat(answer.body()).contains("event: message_start").contains("event: message_stop");
    } else {
      assertThat(JSON.readTree(answer.body()).path("type").asText()).isEqualTo("message");
    }
  }

  /** In the engine's words, as if it had been asked itself. */
  @Test
  void isolatedMessage_thatEveryEngineRefuses_isRefused() throws Exception {
    HttpResponse<String> answer = post("blue-1", "/v1/messages", """
        {"model":"m","max_tokens":5,"messages":[{"role":"user","content":"Hi"},{"role":"system","content":[
        {"type":"tool_removal","tool":{"type":"tool_reference","name":"absent"}}]}]}""");

    assertThat(answer.statusCode()).isEqualTo(400);
    JsonNode error = JSON.readTree(answer.body());
    assertThat(error.at("/error/type").asText()).isEqualTo("invalid_request_error");
    assertThat(error.at("/error/message").asText()).contains("absent");
    assertThat(router.cells.requests).isEmpty();
  }

  @Test
  void storedResponse_isItsTenantsOwn() throws Exception {
    String body = "{\"model\":\"m\",\"input\":\"Hi\"}";
    assertThat(post("plain", "/v1/responses", body).statusCode()).isEqualTo(200);

    assertThat(router.get("/v1/responses/resp_1", "Authorization", "Bearer blue-1").statusCode()).isEqualTo(200);
    HttpResponse<String> other = router.get("/v1/responses/resp_1", "Authorization", "Bearer red");
    assertThat(other.statusCode()).isEqualTo(404);
    assertThat(post("red", "/v1/responses",
        "{\"model\":\"m\",\"input\":\"Hi\",\"previous_response_id\":\"resp_1\"}").statusCode()).isEqualTo(404);
  }

  private String salt() throws Exception {
    return JSON.readTree(pod.next().text()).path("cache_salt").asText();
  }

  private static List<String> ids(String models) throws IOException {
    return JSON.readTree(models).path("data").findValuesAsText("id");
  }
}
