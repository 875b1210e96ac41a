package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.gateway.admin.DirectExchange;
import io.kvasir.http.Headers;
import io.kvasir.http.server.ArrivedRequest;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.HttpHandler;
import io.kvasir.http.server.RequestFailure;
import io.kvasir.http.server.Response;
import java.net.InetAddress;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class CorsHandlerTest {
  private final HttpHandler gateway = new HttpHandler() {
    @Override
    public Response handle(Exchange exchange) {
      return new Response.Buffered(
          exchange.method().equals("POST") ? 200 : 405, Headers.of("X-Request-Id", "1"), exchange.body());
    }

    @Override
    public Response.@Nullable Buffered refusal(ArrivedRequest request) {
      return new Response.Buffered(401, Headers.EMPTY, new byte[0]);
    }
  };
  private final CorsHandler cors = new CorsHandler(gateway, Set.of("https://chat.example"));

  @Test
  void preflight_isAnsweredWithoutAKey() throws Exception {
    Response answer = cors.handle(request(
        "OPTIONS", "Origin", "https://chat.example", "Access-Control-Request-Method", "POST",
        "Access-Control-Request-Headers", "authorization, content-type"));

    assertThat(answer.status()).isEqualTo(204);
    assertThat(answer.headers().first("Access-Control-Allow-Origin")).isEqualTo("https://chat.example");
    assertThat(answer.headers().first("Access-Control-Allow-Methods")).contains("POST");
    assertThat(answer.headers().first("Access-Control-Allow-Headers")).isEqualTo("authorization, content-type");
    assertThat(answer.headers().first("Access-Control-Allow-Credentials")).isNull();
  }

  @Test
  void answers_allowTheOrigin() throws Exception {
    Response answer = cors.handle(request("POST", "Origin", "https://chat.example"));

    assertThat(answer.status()).isEqualTo(200);
    assertThat(answer.headers().first("Access-Control-Allow-Origin")).isEqualTo("https://chat.example");
    assertThat(answer.headers().first("Access-Control-Expose-Headers")).isEqualTo("*");
    assertThat(answer.headers().first("X-Request-Id")).isEqualTo("1");
    Response refusal =
        Objects.requireNonNull(cors.refusal(arrived(Headers.of("Origin", "https://chat.example"))));
    assertThat(refusal.headers().first("Access-Control-Allow-Origin")).isEqualTo("https://chat.example");
    Response failure =
        cors.failure(arrived(Headers.of("Origin", "https://chat.example")), new RequestFailure(413, "too long"));
    assertThat(failure.headers().first("Access-Control-Allow-Origin")).isEqualTo("https://chat.example");
  }

  @Test
  void otherOrigins_areAllowedNothing() throws Exception {
    for (String other : new String[] {"https://evil.example", "https://chat.example.evil", "null"}) {
      Response answer = cors.handle(request("POST", "Origin", other));
      assertThat(answer.headers().first("Access-Control-Allow-Origin")).isNull();
      assertThat(cors.handle(request("OPTIONS", "Origin", other, "Access-Control-Request-Method", "POST")).status())
          .isEqualTo(405);
    }
  }

  @Test
  void allAnswers_varyWithTheOrigin() throws Exception {
    assertThat(cors.handle(request("POST")).headers().first("Vary")).isEqualTo("Origin");
    assertThat(cors.handle(request("POST", "Origin", "https://evil.example")).headers().first("Vary"))
        .isEqualTo("Origin");
    assertThat(Objects.requireNonNull(cors.refusal(arrived(Headers.EMPTY))).headers().first("Vary"))
        .isEqualTo("Origin");
  }

  private static ArrivedRequest arrived(Headers headers) {
    return new ArrivedRequest("POST", "/v1/models", headers, InetAddress.getLoopbackAddress());
  }

  private static DirectExchange request(String method, String... headers) {
    return new DirectExchange(
        method, "/v1/models", headers.length == 0 ? Headers.EMPTY : Headers.of(headers),
        InetAddress.getLoopbackAddress(), new byte[0]);
  }
}
