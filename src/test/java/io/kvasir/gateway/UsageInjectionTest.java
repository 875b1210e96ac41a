package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.Outcome;
import io.kvasir.gateway.body.ApiRequest;
import io.kvasir.gateway.forwarding.UnaskedUsage;
import io.kvasir.gateway.forwarding.UsageInjection;
import io.kvasir.http.ApiPath;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Role;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The usage of streams whose client did not ask for it: asked of the engine, and kept from the client. */
final class UsageInjectionTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String DONE = "data: [DONE]\n\n";

  private SimEngine engine;

  private ScriptedPod pod;

  private TestRouter asking;

  private TestRouter silent;

  @BeforeEach
  void start() throws IOException {
    EventSettings events = EventSettings.DEFAULT.withLoopback();
    engine = SimEngine.start(SimSettings.builder().port(0).speed(0).events(events).capacityBlocks(512).build());
    pod = new ScriptedPod((request, out) -> out.json(500, "{}"));
    asking = router(true);
    silent = router(false);
  }

  private TestRouter router(boolean usageInjection) throws IOException {
    TestRouter router =
        new TestRouter(TestRouter.EXECUTION, new GatewaySettings("http", usageInjection, null));
    router.cells.worker("w0", pod.url(), "kvasir-demo");
    return router;
  }

  @AfterEach
  void stop() {
    asking.close();
    silent.close();
    pod.close();
    engine.close();
  }

  /** An engine's stream, which has the event of usage where the request asks for it: its client sees no difference. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "/v1/chat/completions | {'messages':[M],'max_tokens':8,MORE}",
      "/v1/chat/completions | {'messages':[M],'max_tokens':8,'n':3,MORE}",
      "/v1/chat/completions | {'messages':[M],'max_tokens':8,'stream_options':null,MORE}",
      "/v1/chat/completions | {'messages':[M],'stream_options':{},MORE}",
      "/v1/chat/completions | {'stream_options':{'include_usage':false},'messages':[M],MORE}",
      "/v1/chat/completions | {'messages':[M],'tools':[{'type':'function','function':{'name':'f','parameters':"
          + "{'type':'object'}}}],'tool_choice':'required','max_tokens':40,MORE}",
      "/v1/completions      | {'prompt':'Hello','max_tokens':8,MORE}",
      "/v1/completions      | {'prompt':'Hello','max_tokens':8,'n':2,MORE}"})
  void stream_isTheSameToTheClient_toTheByte(String path, String request) throws Exception {
    String body =
        request.replace("MORE", "'model':'kvasir-demo','stream':true").replace("M", "{'role':'user','content':'Hi'}")
            .replace('\'', '"');
    String stream = stream(path, body);
    String usage = usage(path, body);
    pod.script((received, out) -> {
      boolean asked = JSON.readTree(received.text()).at("/stream_options/include_usage").asBoolean();
      out.stream(List.of(asked ? stream.replace(DONE, usage + DONE) : stream));
    });

    assertThat(asking.post(path, body).body()).isEqualTo(stream);
    assertThat(asking.cells.outcome()).isInstanceOfSatisfying(
        Outcome.Completed.class, completed -> assertThat(completed.promptTokens()).isPositive());
    assertThat(silent.post(path, body).body()).isEqualTo(stream);
    assertThat(silent.cells.outcome()).isInstanceOfSatisfying(
        Outcome.Completed.class, completed -> assertThat(completed.promptTokens()).isEqualTo(Outcome.UNKNOWN));
  }

  /** An engine that sends it anyway: so would its client have had it. */
  @Test
  void streamOfAnEngineThatSendsUsageUnasked_isLeftAlone_onceThatIsLearnt() throws Exception {
    String body = "{\"model\":\"kvasir-demo\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],"
        + "\"max_tokens\":2}";
    asking.cells.workers.clear();
    asking.cells.worker("w0", engine.url(), "kvasir-demo");
    engine.setCondition(EngineCondition.UNASKED_USAGE, true);
    String path = "/v1/chat/completions";
    assertThat(post(path, body)).contains("\"choices\":[]");

    for (int i = 1; i < UnaskedUsage.FIRST; i++) {
      assertThat(asking.post(path, body).body()).doesNotContain("\"choices\":[]");
      assertThat(promptTokens()).isPositive();
    }
    for (int i = 0; i < 3; i++) {
      assertThat(asking.post(path, body).body()).contains("\"choices\":[]");
      assertThat(promptTokens()).isPositive();
    }

    engine.setCondition(EngineCondition.UNASKED_USAGE, false);
    assertThat(asking.post(path, body).body()).doesNotContain("\"usage\":{");
    assertThat(promptTokens()).as("nobody asked").isEqualTo(Outcome.UNKNOWN);
    assertThat(asking.post(path, body).body()).doesNotContain("\"usage\":{");
    assertThat(promptTokens()).as("asked again").isPositive();
  }

  private int promptTokens() throws InterruptedException {
    return ((Outcome.Completed) asking.cells.outcome()).promptTokens();
  }

  /** What a client has asked for it gets, whatever the router would ask for. */
  @Test
  void clientThatAsks_getsTheUsage() throws Exception {
    String body = "{\"model\":\"kvasir-demo\",\"stream\":true,\"stream_options\":{\"include_usage\":true}}";
    String stream = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":1}}\n\n" + DONE;
    pod.script((received, out) -> out.stream(List.of(stream)));

    assertThat(asking.post("/v1/chat/completions", body).body()).isEqualTo(stream);
    assertThat(pod.next().text()).isEqualTo(body);
  }

  /** Each chunk would have them. */
  @Test
  void clientOfContinuousStatistics_isLeftAlone() throws IOException {
    assertThat(applies("{\"stream\":true,\"stream_options\":{\"continuous_usage_stats\":true}}")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {
      "{\"stream\":true,\"stream_options\":{\"include_usage\":true}}", "{\"stream\":true,\"stream_options\":7}",
      "{\"stream\":false}"})
  void requestThatAsksOrIsNotUnderstood_isLeftAlone(String body) throws IOException {
    assertThat(applies(body)).isFalse();
  }

  @Test
  void options_keepTheirOtherMembersAndTheirPlace() throws IOException {
    String body = "{ \"stream_options\" : {\"x\": [1 ,2]}, \"stream\":true,\"a\" :1.50 }";

    byte[] asking = UsageInjection.inject(request(body), body.getBytes(StandardCharsets.UTF_8));

    assertThat(new String(asking, StandardCharsets.UTF_8).replace(" ", "")).isEqualTo(
        "{\"stream_options\":{\"x\":[1,2],\"include_usage\":true},\"stream\":true,\"a\":1.50}");
  }

  @Test
  void answerOfPrefillAlone_hasNoUsageThatWasNotRequested() throws Exception {
    asking.cells.workers.clear();
    asking.cells.splitter("p", pod.url(), Role.PREFILL, KvTransfer.Dialect.TENSORRT_LLM, "kvasir-demo");
    asking.cells.splitter("d", pod.url(), Role.DECODE, KvTransfer.Dialect.TENSORRT_LLM, "kvasir-demo");
    pod.script((request, out) -> out.json(200,
        "{\"id\":\"p\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"lo\"},"
            + "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}"));

    String told = asking.post(
        "/v1/chat/completions",
        "{\"model\":\"kvasir-demo\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}").body();

    assertThat(told).contains("\"lo\"", "[DONE]").doesNotContain("\"usage\":{");
  }

  private static boolean applies(String body) throws IOException {
    return UsageInjection.applies(ApiPath.CHAT, request(body), body.getBytes(StandardCharsets.UTF_8));
  }

  private static ApiRequest request(String body) throws IOException {
    JsonNode tree = JSON.readTree(body);
    return new ApiRequest("m", tree.path("stream").asBoolean(), null, tree);
  }

  /** The engine's stream to a client that does not ask for usage. */
  private String stream(String path, String body) throws Exception {
    return post(path, body);
  }

  /** The event that the engine adds for one that does. */
  private String usage(String path, String body) throws Exception {
    ObjectNode asking = (ObjectNode) JSON.readTree(body);
    asking.putObject("stream_options").put("include_usage", true);
    List<String> events = Pattern.compile("(?<=\n\n)").splitAsStream(post(path, asking.toString())).toList();
    String usage = events.get(events.size() - 2);
    assertThat(usage).contains("\"choices\":[]", "\"prompt_tokens\"");
    return usage;
  }

  private String post(String path, String body) throws Exception {
    try (HttpClient client = HttpClient.newHttpClient()) {
      HttpRequest request =
          HttpRequest.newBuilder(engine.url().resolve(path))
              .header("Content-Type", "application/json")
              .POST(HttpRequest.BodyPublishers.ofString(body))
              .build();
      HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
      assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
      return answer.body();
    }
  }
}
