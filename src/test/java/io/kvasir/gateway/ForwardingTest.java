package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.gateway.forwarding.ForwardingSettings;
import io.kvasir.gateway.forwarding.ReservedFields;
import io.kvasir.gateway.forwarding.ServedPaths;
import io.kvasir.gateway.forwarding.TrustedProxies;
import io.kvasir.http.Headers;
import io.kvasir.http.client.ScriptedPod;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which headers pass, and which are the router's own. */
final class ForwardingTest {
  private static final String BODY = "{\"model\":\"m\"}";

  private TestRouter router;
  private ScriptedPod pod;

  @BeforeEach
  void start() throws IOException {
    router = new TestRouter();
    pod = new ScriptedPod((request, out) -> out.json(200, "{}"));
    router.cells.worker("w0", pod.url(), "m");
  }

  @AfterEach
  void stop() {
    router.close();
    pod.close();
  }

  @Test
  void request_endToEndHeaders_passAndHopByHopOnesStay() throws Exception {
    exchange(
        "Connection", "keep-alive, X-Hop", "X-Hop", "1", "Keep-Alive", "timeout=5", "TE", "trailers",
        "Proxy-Authorization", "secret", "Authorization", "Bearer key", "Accept-Encoding", "gzip, br",
        "X-Own", "a", "X-Own", "b", "traceparent", "00-abc-def-01");

    Headers seen = pod.next().headers();
    assertThat(names(seen)).doesNotContain("x-hop", "keep-alive", "te", "proxy-authorization");
    assertThat(seen.first("Authorization")).isEqualTo("Bearer key");
    assertThat(seen.first("Accept-Encoding")).isEqualTo("gzip, br");
    assertThat(seen.first("traceparent")).isEqualTo("00-abc-def-01");
    assertThat(all(seen, "X-Own")).containsExactly("a", "b");
    assertThat(all(seen, "Host")).containsExactly(pod.url().getAuthority());
    assertThat(all(seen, "Content-Length")).containsExactly("" + BODY.length());
    assertThat(all(seen, "Content-Type")).containsExactly("application/json");
    assertThat(seen.first("X-Forwarded-Host")).isEqualTo("router");
  }

  @Test
  void request_forwardedFor_isTheClientsAddressWhateverItSays() throws Exception {
    router.post("/v1/completions", BODY);
    router.post("/v1/completions", BODY, "X-Forwarded-For", "10.1.2.3", "X-Forwarded-Proto", "https",
        "X-Forwarded-Host", "evil.example", "Forwarded", "for=10.1.2.3", "X-Real-IP", "10.1.2.3");

    for (int request = 0; request < 2; request++) {
      Headers seen = pod.next().headers();
      assertThat(all(seen, "X-Forwarded-For")).containsExactly("127.0.0.1");
      assertThat(all(seen, "X-Forwarded-Proto")).containsExactly("http");
      assertThat(all(seen, "X-Forwarded-Host")).containsExactly(router.url("/").getAuthority());
      assertThat(names(seen)).doesNotContain("forwarded", "x-real-ip");
    }
  }

  @Test
  void request_fromTrustedProxy_continuesWhatItSays() throws Exception {
    forward(ReservedFields.none(), new TrustedProxies(List.of("10.0.0.0/8", "127.0.0.0/29", "::1")), true);
    router.post("/v1/completions", BODY, "X-Forwarded-For", "10.1.2.3, 10.1.2.4", "X-Forwarded-For", "10.1.2.5",
        "X-Forwarded-Proto", "https", "X-Forwarded-Host", "api.example", "Forwarded", "for=10.1.2.3");

    Headers seen = pod.next().headers();
    assertThat(all(seen, "X-Forwarded-For")).containsExactly("10.1.2.3, 10.1.2.4, 10.1.2.5, 127.0.0.1");
    assertThat(all(seen, "X-Forwarded-Proto")).containsExactly("https");
    assertThat(all(seen, "X-Forwarded-Host")).containsExactly("api.example");
    assertThat(all(seen, "Forwarded")).containsExactly("for=10.1.2.3");
  }

  @Test
  void request_fromBesideTheTrustedNetwork_isNotTrusted() throws Exception {
    forward(ReservedFields.none(), new TrustedProxies(List.of("127.0.0.2/31", "10.0.0.0/8", "::/0")), true);
    router.post("/v1/completions", BODY, "X-Forwarded-For", "10.1.2.3");

    assertThat(all(pod.next().headers(), "X-Forwarded-For")).containsExactly("127.0.0.1");
  }

  @Test
  void clientKeys_thatStayHere_reachNoEngine() throws Exception {
    forward(ReservedFields.none(), TrustedProxies.NONE, false);
    router.post("/v1/completions", BODY, "Authorization", "Bearer key", "x-api-key", "key");

    assertThat(names(pod.next().headers())).doesNotContain("authorization", "x-api-key");
  }

  private void forward(ReservedFields reserved, TrustedProxies proxies, boolean clientKeys) throws IOException {
    router.close();
    router = new TestRouter(TestRouter.EXECUTION, GatewaySettings.defaults().with(
        new ForwardingSettings(ServedPaths.INFERENCE, reserved, proxies, clientKeys)));
    router.cells.worker("w0", pod.url(), "m");
  }

  @Test
  void answer_endToEndHeaders_passAndHopByHopOnesStay() throws Exception {
    pod.script((request, out) -> out.json(
        200, "{}", "Connection", "X-Hop", "X-Hop", "1", "Keep-Alive", "timeout=5", "X-Own", "a", "X-Own", "b",
        "Set-Cookie", "c=1", "X-Request-Id", "the engine's"));

    HttpResponse<String> response = router.post("/v1/completions", BODY, "X-Request-Id", "mine");

    assertThat(response.headers().firstValue("X-Hop")).isEmpty();
    assertThat(response.headers().firstValue("Keep-Alive")).isEmpty();
    assertThat(response.headers().allValues("X-Own")).containsExactly("a", "b");
    assertThat(response.headers().firstValue("Set-Cookie")).hasValue("c=1");
    assertThat(response.headers().allValues("X-Request-Id")).containsExactly("mine");
  }

  @Test
  void requestId_ofTheClient_goesBothWays() throws Exception {
    HttpResponse<String> response = router.post("/v1/completions", BODY, "X-Request-Id", "req-1");

    assertThat(response.headers().firstValue("X-Request-Id")).hasValue("req-1");
    assertThat(pod.next().headers().first("X-Request-Id")).isEqualTo("req-1");
    assertThat(router.cells.requests.take().requestId()).isEqualTo("req-1");
  }

  @Test
  void requestId_missingOrUnusable_isMinted() throws Exception {
    String address = "___prefill_addr_10.0.0.66:1___decode_addr_10.0.0.66:2_a";
    for (String id : List.of("", "x".repeat(129), "with blank", address)) {
      HttpResponse<String> response = id.isEmpty()
          ? router.post("/v1/completions", BODY)
          : router.post("/v1/completions", BODY, "X-Request-Id", id);

      String minted = response.headers().firstValue("X-Request-Id").orElseThrow();
      assertThat(minted).matches("[0-9a-f]{32}");
      assertThat(pod.next().headers().first("X-Request-Id")).isEqualTo(minted);
    }
  }

  @Test
  void rank_ofSeveral_isPinned() throws Exception {
    router.post("/v1/completions", BODY);
    router.cells.workers.clear();
    router.cells.worker("w0", "w0#1", pod.url(), 1, 2, "m");
    router.post("/v1/completions", BODY);

    assertThat(pod.next().headers().has("X-data-parallel-rank")).isFalse();
    assertThat(pod.next().headers().first("X-data-parallel-rank")).isEqualTo("1");
  }

  private void exchange(String... headers) throws IOException {
    try (Socket socket = router.connect()) {
      socket.getOutputStream().write(TestRouter.wire("/v1/completions", BODY, headers));
      BufferedReader reader =
          new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
      assertThat(reader.readLine()).startsWith("HTTP/1.1 200");
    }
  }

  private static List<String> names(Headers headers) {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < headers.size(); i++) {
      names.add(headers.name(i).toLowerCase(Locale.ROOT));
    }
    return names;
  }

  private static List<String> all(Headers headers, String name) {
    List<String> values = new ArrayList<>();
    for (int i = 0; i < headers.size(); i++) {
      if (headers.name(i).equalsIgnoreCase(name)) {
        values.add(headers.value(i));
      }
    }
    return values;
  }
}
