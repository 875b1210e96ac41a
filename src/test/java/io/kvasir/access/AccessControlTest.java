package io.kvasir.access;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.access.Authentication.Accepted;
import io.kvasir.access.Authentication.Reason;
import io.kvasir.access.Authentication.Refused;
import io.kvasir.access.Authentication.Unavailable;
import io.kvasir.http.Headers;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class AccessControlTest {
  private static final Instant NOW = Instant.parse("2026-11-22T12:00:00Z");
  private static final Limits TENANT_LIMITS = new Limits(100, 0, 0, List.of());

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final AtomicReference<Instant> now = new AtomicReference<>(NOW);
  private final AccessControl access = new AccessControl(null, now::get, new Metrics(registry));

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Authorization: Bearer secret-of-good", "authorization: bearer secret-of-good",
        "AUTHORIZATION: BEARER   secret-of-good", "x-api-key: secret-of-good", "X-Api-Key: secret-of-good"
      })
  void keyOfEitherHeader_isItsCaller(String header) {
    publishAll();
    assertThat(access.authenticate(headers(header)))
        .isEqualTo(new Accepted(new Caller("good", "team", Grants.ALL, Limits.NONE, TENANT_LIMITS)));
  }

  @ParameterizedTest
  @CsvSource({
    "Authorization: Bearer secret-of-nobody, UNKNOWN",
    "Authorization: Bearer Secret-of-good, UNKNOWN",
    "Authorization: Bearer secret-of-good2, UNKNOWN",
    "Authorization: Bearer secret-of, UNKNOWN",
    "Authorization: Bearer secret-of-disabled, DISABLED",
    "Authorization: Bearer secret-of-expired, EXPIRED",
    "Authorization: Bearer secret-of-expired-and-disabled, DISABLED",
    "Authorization: Bearer before-rotation-long-ago, EXPIRED",
    "x-api-key: secret-of-disabled, DISABLED",
    "Authorization: secret-of-good, MISSING",
    "Authorization: Basic secret-of-good, MISSING",
    "Authorization: Bearer, MISSING",
    "x-api-key:, MISSING",
    "X-Other: secret-of-good, MISSING",
  })
  void whatIsNoValidKey_isRefused(String header, Reason reason) {
    publishAll();
    Refused refused = (Refused) access.authenticate(headers(header));
    assertThat(refused.reason()).isEqualTo(reason);
    assertThat(refused.message()).doesNotContain("secret-of", "before-rotation").contains("key");
    assertThat(counted(reason.name().toLowerCase(Locale.ROOT))).isEqualTo(1);
  }

  /** Who holds a key that was disabled does not learn that it was ever a right one. */
  @Test
  void disabledKey_isRefusedInTheWordsForAnUnknownOne() {
    publishAll();
    assertThat(((Refused) access.authenticate(bearer("secret-of-disabled"))).message())
        .isEqualTo(((Refused) access.authenticate(bearer("secret-of-nobody"))).message());
  }

  /** Some SDKs send both headers: the first is OpenAI's. */
  @Test
  void bothHeaders_bearerDecides() {
    publishAll();
    assertThat(access.authenticate(Headers.of("x-api-key", "nothing", "Authorization", "Bearer secret-of-good")))
        .isInstanceOf(Accepted.class);
    assertThat(access.authenticate(Headers.of("x-api-key", "secret-of-good", "Authorization", "Bearer nothing")))
        .isInstanceOf(Refused.class);
  }

  @Test
  void keyWithAnEnd_isValidUntilThen() {
    publishAll();
    assertThat(access.authenticate(bearer("secret-of-ending"))).isInstanceOf(Accepted.class);
    now.set(NOW.plusSeconds(60));
    assertThat(access.authenticate(bearer("secret-of-ending"))).isInstanceOf(Accepted.class);
    now.set(NOW.plusSeconds(61));
    assertThat(access.authenticate(bearer("secret-of-ending"))).isInstanceOf(Refused.class);
  }

  @Test
  void rotatedKey_bothTextsAreValid_untilTheOverlapEnds() {
    publishAll();
    assertThat(access.authenticate(bearer("secret-of-rotated")))
        .isEqualTo(access.authenticate(bearer("before-rotation")));
    now.set(NOW.plusSeconds(61));
    assertThat(access.authenticate(bearer("secret-of-rotated"))).isInstanceOf(Accepted.class);
    assertThat(access.authenticate(bearer("before-rotation"))).isInstanceOf(Refused.class);
  }

  @Test
  void beforeKeysAreKnown_nobodyIsAcceptedOrRefused() {
    assertThat(access.authenticate(bearer("secret-of-good"))).isInstanceOf(Unavailable.class);
    assertThat(access.authenticate(Headers.EMPTY)).isInstanceOf(Unavailable.class);
    assertThat(counted("not_ready")).isEqualTo(2);
  }

  @Test
  void routerWithoutKeys_takesWhateverSdksSend() {
    Caller anyone = Caller.anonymous(false);
    access.publishAnonymous(anyone);
    assertThat(access.authenticate(Headers.EMPTY)).isEqualTo(new Accepted(anyone));
    assertThat(access.authenticate(bearer("EMPTY"))).isEqualTo(new Accepted(anyone));
    access.publish(KeyRing.EMPTY);
    assertThat(access.authenticate(bearer("EMPTY"))).isInstanceOf(Refused.class);
  }

  @Test
  void tokenThatIsNoKey_isTheVerifiers() {
    Accepted token = new Accepted(new Caller("subject", "team", Grants.ALL, Limits.NONE, Limits.NONE));
    AccessControl withTokens =
        new AccessControl((text, _) -> text.equals("a.b.c") ? token : new Refused(Reason.INVALID_TOKEN, "no"),
            now::get, new Metrics(new PrometheusRegistry()));
    withTokens.publish(KeyRing.of(List.of(key("good")), Map.of()));
    assertThat(withTokens.authenticate(bearer("a.b.c"))).isEqualTo(token);
    assertThat(withTokens.authenticate(bearer("a.b.d"))).isEqualTo(new Refused(Reason.INVALID_TOKEN, "no"));
    assertThat(((Accepted) withTokens.authenticate(bearer("secret-of-good"))).caller().keyId()).isEqualTo("good");
  }

  /** Rings against a list of keys that is searched from end to end. */
  @Test
  void lookup_isThatOfAList() {
    Random random = new Random(14);
    for (int round = 0; round < 200; round++) {
      List<ApiKey> keys = new ArrayList<>();
      for (int i = random.nextInt(40); i > 0; i--) {
        String id = "k" + i;
        Instant end = random.nextBoolean() ? null : NOW.plusSeconds(random.nextInt(-2, 3));
        keys.add(key(id, end, random.nextInt(4) == 0, null));
      }
      access.publish(KeyRing.of(keys, Map.of()));
      for (int i = 0; i < 50; i++) {
        String shown = "secret-of-k" + random.nextInt(50);
        assertThat(access.authenticate(bearer(shown))).as(shown).isInstanceOf(expected(keys, shown));
      }
    }
  }

  private static Class<? extends Authentication> expected(List<ApiKey> keys, String shown) {
    for (ApiKey key : keys) {
      Instant end = key.notAfter();
      if (("secret-of-" + key.id()).equals(shown) && !key.disabled() && (end == null || !NOW.isAfter(end))) {
        return Accepted.class;
      }
    }
    return Refused.class;
  }

  private void publishAll() {
    ApiKey.PreviousDigest recent = new ApiKey.PreviousDigest(KeyDigest.of("before-rotation"), NOW.plusSeconds(60));
    ApiKey.PreviousDigest old =
        new ApiKey.PreviousDigest(KeyDigest.of("before-rotation-long-ago"), NOW.minus(Duration.ofDays(1)));
    access.publish(
        KeyRing.of(
            List.of(
                key("good"),
                key("disabled", null, true, null),
                key("expired", NOW.minusSeconds(1), false, null),
                key("expired-and-disabled", NOW.minusSeconds(1), true, null),
                key("ending", NOW.plusSeconds(60), false, null),
                key("rotated", null, false, recent),
                key("rotated-long-ago", null, false, old)),
            Map.of("team", TENANT_LIMITS)));
  }

  private static ApiKey key(String id) {
    return key(id, null, false, null);
  }

  private static ApiKey key(
      String id, @Nullable Instant notAfter, boolean disabled, ApiKey.@Nullable PreviousDigest previous) {
    return new ApiKey(
        id, KeyDigest.of("secret-of-" + id), previous, "team", notAfter, disabled, Grants.ALL, Limits.NONE);
  }

  private static Headers bearer(String text) {
    return Headers.of("Authorization", "Bearer " + text);
  }

  private static Headers headers(String line) {
    int colon = line.indexOf(':');
    return Headers.of(line.substring(0, colon), line.substring(colon + 1).strip());
  }

  private double counted(String reason) {
    return TestMetrics.sum(registry, "kvasir_authentications_refused", reason);
  }
}
