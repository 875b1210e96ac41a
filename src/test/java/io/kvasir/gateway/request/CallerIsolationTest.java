package io.kvasir.gateway.request;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.access.CacheSalts;
import io.kvasir.access.Caller;
import io.kvasir.access.Grants;
import io.kvasir.access.Isolation;
import io.kvasir.access.Limits;
import io.kvasir.admission.ServiceClass;
import io.kvasir.execution.dialect.Translation;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.http.ApiPath;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.prompt.PromptModel;
import io.kvasir.prompt.PromptSettings;
import io.kvasir.prompt.Prompts;
import io.kvasir.prompt.VersionedEngine;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.SglangVersion;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Which requests of isolated callers are served by chats. */
final class CallerIsolationTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final SglangVersion UNSALTED = new SglangVersion(0, 5, 17, null);
  private static final SglangVersion SALTED = new SglangVersion(0, 5, 18, null);

  @Test
  void responses_areChats_whereTheEngineReadsNoSaltInThem() throws Exception {
    String body = "{\"model\":\"m\",\"input\":\"Hi\"}";

    assertThat(translated(UNSALTED, new Isolation.Tenant(), ApiPath.RESPONSES, body))
        .isEqualTo("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}");
    assertThat(translated(UNSALTED, Isolation.NONE, ApiPath.RESPONSES, body)).isNull();
    assertThat(translated(SALTED, new Isolation.Tenant(), ApiPath.RESPONSES, body)).isNull();
  }

  @Test
  void messages_areAlwaysChats_andChatsStayAsTheyAre() throws Exception {
    String body = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}";

    assertThat(translated(SALTED, new Isolation.Tenant(), ApiPath.MESSAGES, body)).isEqualTo(body);
    assertThat(translated(UNSALTED, new Isolation.Tenant(), ApiPath.CHAT, body)).isNull();
  }

  @Test
  void response_thatNoChatCanServe_isRefused_withWhatToDo() {
    for (String more : List.of(
        "\"previous_response_id\":\"r\"", "\"background\":true", "\"tools\":[{\"type\":\"mcp\"}]")) {
      String body = "{\"model\":\"m\",\"input\":\"Hi\"," + more + "}";
      assertThatThrownBy(() -> translated(UNSALTED, new Isolation.Tenant(), ApiPath.RESPONSES, body))
          .isInstanceOfSatisfying(ApiException.class, refused -> {
            assertThat(refused.error().status()).isEqualTo(400);
            assertThat(refused.error().code()).isEqualTo("not_isolated");
            assertThat(refused.error().message()).contains("Send all of the conversation in input");
          });
    }
  }

  private static @Nullable String translated(EngineVersion engine, Isolation isolation, ApiPath api, String body)
      throws Exception {
    Prompts prompts = Prompts.load(
        List.of(ModelConfig.text("m")), PromptSettings.ofMemo(1 << 20), _ -> new VersionedEngine(engine), Runnable::run,
        Clock.systemUTC(), NanoClock.SYSTEM, new Metrics(new PrometheusRegistry()));
    prompts.models().forEach(PromptModel::learnEngineVersions);
    CacheSalts salts = new CacheSalts("0123456789abcdef".getBytes(StandardCharsets.UTF_8));
    Grants grants = new Grants(Set.of(), Set.of(), null, ServiceClass.DEFAULT, 1, isolation, false, false);
    Translation translation =
        new CallerIsolation(salts, new PromptConversion(prompts)).translation(
            new Caller("k", "blue", grants, Limits.NONE, Limits.NONE), api, body.getBytes(StandardCharsets.UTF_8),
            (ObjectNode) JSON.readTree(body), "m");
    return translation == null ? null : translation.request().toString();
  }
}
