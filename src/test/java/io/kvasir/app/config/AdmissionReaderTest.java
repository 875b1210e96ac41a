package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.typesafe.config.ConfigFactory;
import org.junit.jupiter.api.Test;

/** Settings of the waiting room that are not taken. */
final class AdmissionReaderTest {
  @Test
  void firstToken_isNamedWithWhatReplacesIt() {
    ConfigException refused =
        catchThrowableOfType(
            ConfigException.class,
            () -> KvasirConfig.of(
                ConfigFactory.parseString("kvasir.admission.classes.interactive.first-token = 2 s")));
    assertThat(refused).hasMessageContaining("first-token").hasMessageContaining("set engine-queue");
  }

  @Test
  void keptPlaces_areAtMostHalf() {
    ConfigException refused =
        catchThrowableOfType(
            ConfigException.class,
            () -> KvasirConfig.of(ConfigFactory.parseString("kvasir.admission.kept-places = 0.6")));
    assertThat(refused).hasMessageContaining("kept-places").hasMessageContaining("0.5");
  }
}
