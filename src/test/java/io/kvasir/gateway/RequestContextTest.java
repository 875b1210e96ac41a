package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.ProfileChoice;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is found out of a request where it arrives: its profile, and what its preparers say. */
final class RequestContextTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String BODY = "{\"model\":\"m\",\"prompt\":\"x\",\"user\":\"u\",\"metadata\":{\"team\":7}}";

  private ScriptedPod pod;

  @BeforeEach
  void start() throws IOException {
    pod = new ScriptedPod((request, out) -> out.json(200, "{}"));
  }

  @AfterEach
  void stop() {
    pod.close();
  }

  @Test
  void session_headersThenFields_giveTheKey() throws Exception {
    try (TestRouter router = router("session-key", ProfileChoice.always("by-session", false))) {
      assertThat(List.of(
              session(router), session(router, "X-Tenant-ID", "t"),
              session(router, "X-Tenant-ID", "t", "X-Session-ID", "s")))
          .containsExactly("u", "t", "s");
    }
  }

  @Test
  void session_ownHeadersAndNestedFields() throws Exception {
    String preparer = "{ plugin = session-key, headers = [x-thread], fields = [metadata.team, user] }";
    try (TestRouter router = router(preparer, ProfileChoice.always("by-session", false))) {
      assertThat(List.of(session(router, "X-Session-ID", "s"), session(router, "X-Thread", "y".repeat(300))))
          .containsExactly("7", "y".repeat(256));
    }
  }

  /** It is the picker's to set. */
  @Test
  void priorityThatAClientSets_countsForNothing() throws Exception {
    String preparer = "{ plugin = session-key, headers = [x-kvasir-priority], fields = [user] }";
    try (TestRouter router = router(preparer, ProfileChoice.always("by-session", false))) {
      assertThat(session(router, "X-Kvasir-Priority", "99")).isEqualTo("u");
    }
  }

  @Test
  void profileThatAsksForNothing_nothingCrosses() throws Exception {
    try (TestRouter router = router("session-key", ProfileChoice.always("expected-cost", false))) {
      assertThat(decision(router, "X-Session-ID", "s").prepared()).isEqualTo(PreparedSlots.EMPTY);
    }
  }

  @Test
  void profile_headerThenTenantThenModelThenStandard() throws Exception {
    ProfileChoice choice =
        new ProfileChoice("random", Map.of("m", "sticky"), Map.of("a", "lmetric"), List.of("X-Team"), true);
    try (TestRouter router = router("session-key", choice)) {
      assertThat(decision(router).profile()).isEqualTo("sticky");
      assertThat(decision(router, "X-Team", "b").profile()).isEqualTo("sticky");
      assertThat(decision(router, "X-Team", "a").profile()).isEqualTo("lmetric");
      assertThat(decision(router, "X-Team", "a", "X-Router-Profile", "preble").profile()).isEqualTo("preble");
    }
    try (TestRouter router = router("session-key", ProfileChoice.always("random", false))) {
      assertThat(decision(router).profile()).isEqualTo("random");
    }
  }

  @Test
  void tenant_withoutHeader_isAHashOfTheKey() throws Exception {
    ProfileChoice choice =
        new ProfileChoice(
            "random", Map.of(), Map.of("key-2bb80d537b1da3e3", "lmetric", "ann", "preble"), List.of("X-Team"), false);
    try (TestRouter router = router("session-key", choice)) {
      assertThat(decision(router, "Authorization", "Bearer secret").profile()).isEqualTo("lmetric");
      assertThat(decision(router, "X-Api-Key", "secret").profile()).isEqualTo("lmetric");
      assertThat(decision(router, "X-Api-Key", "other").profile()).isEqualTo("random");
      assertThat(decision(router, "X-Api-Key", "secret", "X-Team", "ann").profile()).isEqualTo("preble");
    }
  }

  @Test
  void profileHeader_notAllowed_isTold() throws Exception {
    try (TestRouter router = router("session-key", ProfileChoice.always("random", false))) {
      HttpResponse<String> response = router.post("/v1/completions", BODY, "X-Router-Profile", "random");

      assertThat(response.statusCode()).isEqualTo(400);
      assertThat(JSON.readTree(response.body()).at("/error/code").textValue()).isEqualTo("profile_not_allowed");
    }
  }

  @Test
  void profileHeader_unknown_saysWhichThereAre() throws Exception {
    try (TestRouter router = router("session-key", ProfileChoice.always("random", true))) {
      HttpResponse<String> response = router.post("/v1/completions", BODY, "X-Router-Profile", "beste");

      assertThat(response.statusCode()).isEqualTo(400);
      assertThat(JSON.readTree(response.body()).at("/error/code").textValue()).isEqualTo("unknown_profile");
      assertThat(response.body()).contains("'beste'", "by-session", "expected-cost");
    }
  }

  @Test
  void profileHeaderOfLlmd_isUnderstood_afterKvasirsOwn() throws Exception {
    try (TestRouter router = router("session-key", ProfileChoice.always("random", true))) {
      assertThat(decision(router, "EPP-Profile", "preble").profile()).isEqualTo("preble");
      assertThat(decision(router, "EPP-Profile", " ").profile()).isEqualTo("random");
      assertThat(decision(router, "EPP-Profile", "preble", "X-Router-Profile", "sticky").profile())
          .isEqualTo("sticky");
      assertThat(router.post("/v1/completions", BODY, "EPP-Profile", "beste").statusCode()).isEqualTo(400);
    }
  }

  @Test
  void preferIfAvailable_isForWorkersThatHaveSomeOfThePrompt() throws Exception {
    try (TestRouter router = router("session-key", ProfileChoice.always("random", false))) {
      HttpResponse<String> refused = router.post("/v1/completions", BODY, "Prefer", "wait=5, If-Available");

      assertThat(refused.statusCode()).isEqualTo(412);
      assertThat(JSON.readTree(refused.body()).at("/error/code").textValue()).isEqualTo("prompt_not_cached");
      assertThat(router.cells.open).hasValue(0);

      router.cells.predicted = 16;
      assertThat(router.post("/v1/completions", BODY, "Prefer", "if-available").statusCode()).isEqualTo(200);
      router.cells.predicted = 0;
      assertThat(router.post("/v1/completions", BODY, "Prefer", "respond-async").statusCode()).isEqualTo(200);
      assertThat(router.cells.closedTwice).hasValue(0);
    }
  }

  @Test
  void answer_saysWhichProfileTheRequestWentBy() throws Exception {
    try (TestRouter router = router("session-key", ProfileChoice.always("random", true))) {
      HttpResponse<String> standard = router.post("/v1/completions", BODY);
      HttpResponse<String> chosen = router.post("/v1/completions", BODY, "X-Router-Profile", "by-session");

      assertThat(standard.headers().firstValue("X-Router-Profile")).hasValue("random");
      assertThat(chosen.headers().firstValue("X-Router-Profile")).hasValue("by-session");
      pod.next();
      assertThat(pod.next().headers().has("X-Router-Profile")).isFalse();
    }
  }

  /** With a profile that keeps sessions together, and takes the session from wherever {@code preparer} says. */
  private TestRouter router(String preparer, ProfileChoice choice) throws IOException {
    TestRouter router =
        new TestRouter(
            """
            by-session {
              prepare = [ tokenize, block-hash, %s ]
              filter = [ role, model, excluded ]
              score = session-affinity
              pick = max-score
              execute = forward
            }
            """
                .formatted(preparer),
            choice);
    router.cells.worker("w0", pod.url(), "m");
    return router;
  }

  private static String session(TestRouter router, String... headers) throws Exception {
    return decision(router, headers).prepared().texts().getOrDefault("session-key", "none");
  }

  private static DecisionRequest decision(TestRouter router, String... headers) throws Exception {
    router.post("/v1/completions", BODY, headers);
    return router.cells.requests.take();
  }
}
