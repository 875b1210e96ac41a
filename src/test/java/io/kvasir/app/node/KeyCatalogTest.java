package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import io.kvasir.access.AccessControl;
import io.kvasir.access.ApiKey;
import io.kvasir.access.Authentication;
import io.kvasir.access.Authentication.Accepted;
import io.kvasir.access.Authentication.Refused;
import io.kvasir.access.Authentication.Unavailable;
import io.kvasir.access.KeyDigest;
import io.kvasir.access.Limits;
import io.kvasir.access.store.KeyChange;
import io.kvasir.app.config.AccessConfig;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.gateway.admin.KeysAdmin.KeySource;
import io.kvasir.http.Headers;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Keys of several sources, and which of them are accepted. */
final class KeyCatalogTest {
  private final AccessControl control =
      new AccessControl(null, InstantSource.system(), new Metrics(new PrometheusRegistry()));

  private AccessConfig config;

  private KeyCatalog catalog;

  @BeforeEach
  void configure() throws Exception {
    config =
        KvasirConfig.of(
            ConfigFactory.parseString(
                "kvasir.access { keys = [%s], tenants.t.limits.concurrent = 7 }".formatted(entry("configured"))))
            .gateway().access();
    catalog = new KeyCatalog(config, control);
  }

  @Test
  void keysOfAllSources_areAccepted_whenTheChangesAreKnown() throws Exception {
    catalog.replaceFileKeys(List.of(key("filed")));
    assertThat(authenticate("configured")).isInstanceOf(Unavailable.class);
    changes(created("made"));
    for (String id : List.of("configured", "filed", "made")) {
      assertThat(((Accepted) authenticate(id)).caller().tenantLimits()).isEqualTo(new Limits(0, 0, 7, List.of()));
    }
    assertThat(catalog.keys().values()).extracting(known -> known.key().id() + " " + known.source())
        .containsExactly(
            "configured " + KeySource.CONFIGURATION, "filed " + KeySource.FILE, "made " + KeySource.ADMIN);
    assertThat(catalog.problems()).isEmpty();
  }

  @Test
  void disabling_winsOverEverySource() throws Exception {
    catalog.replaceFileKeys(List.of(key("filed"), key("off").withDisabled(true)));
    changes(
        KeyChange.of("configured").withDisabled(true, 1), KeyChange.of("filed").withDisabled(true, 1),
        KeyChange.of("off").withDisabled(false, 1), created("made").withDisabled(true, 1));
    for (String id : List.of("configured", "filed", "off", "made")) {
      assertThat(authenticate(id)).as(id).isInstanceOf(Refused.class);
    }
    catalog.replaceFileKeys(List.of(key("filed")));
    assertThat(authenticate("filed")).as("after the file was read again").isInstanceOf(Refused.class);
  }

  @Test
  void oneKeyInTwoPlaces_isReported() throws Exception {
    ApiKey other = config.reader().readStored(entry("configured").replace(hex("configured"), hex("other")));
    catalog.replaceFileKeys(List.of(other, key("filed")));
    changes(created("filed"));
    assertThat(authenticate("other")).isInstanceOf(Refused.class);
    assertThat(authenticate("configured")).isInstanceOf(Accepted.class);
    assertThat(catalog.problems()).hasSize(2).anyMatch(problem -> problem.what().contains("'configured'"))
        .anyMatch(problem -> problem.what().contains("'filed'"));
  }

  /** As one of a later version may have written it: refused rather than accepted without what is not understood. */
  @Test
  void entryThatThisVersionCannotRead_isRefusedAndReported() throws Exception {
    String later = entry("made").replace("}", ", \"only-from\": \"10.0.0.0/8\"}");
    changes(KeyChange.of("made").withEntry(later, 1), created("other"));
    assertThat(authenticate("made")).isInstanceOf(Refused.class);
    assertThat(authenticate("other")).isInstanceOf(Accepted.class);
    assertThat(catalog.problems()).singleElement().asString()
        .contains("'made'", "only-from").doesNotContain(hex("made"));
  }

  @Test
  void deletedKey_isUnknown() throws Exception {
    changes(created("made"));
    assertThat(authenticate("made")).isInstanceOf(Accepted.class);
    changes(created("made").asDeleted(2));
    assertThat(authenticate("made")).isInstanceOf(Refused.class);
    assertThat(catalog.key("made")).isNull();
    assertThat(catalog.change("made").deleted()).isTrue();
  }

  private void changes(KeyChange... changes) {
    catalog.replaceChanges(
        Arrays.stream(changes).collect(Collectors.toMap(KeyChange::id, Function.identity())));
  }

  private Authentication authenticate(String id) {
    return control.authenticate(Headers.of("Authorization", "Bearer secret-of-" + id));
  }

  private ApiKey key(String id) throws Exception {
    return config.reader().readStored(entry(id));
  }

  private static KeyChange created(String id) {
    return KeyChange.of(id).withEntry(entry(id), 1);
  }

  private static String entry(String id) {
    return "{\"id\": \"%s\", \"tenant\": \"t\", \"sha256\": \"%s\"}".formatted(id, hex(id));
  }

  private static String hex(String id) {
    return KeyDigest.of("secret-of-" + id).hex();
  }
}
