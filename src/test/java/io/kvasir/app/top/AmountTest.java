package io.kvasir.app.top;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class AmountTest {
  @ParameterizedTest
  @CsvSource({
    "0, 0", "0.04, 0.0", "0.26, 0.3", "7, 7", "9.96, 10", "999.7, 1000", "9999, 9999", "9999.6, 10k", "14980, 15k",
    "999600, 1.0M", "1230000, 1.2M", "3e12, 3T", "5e17, 500000T", "-12, -12"
  })
  void amounts(double number, String text) {
    assertThat(Amount.of(number)).isEqualTo(text);
  }

  @ParameterizedTest
  @CsvSource({"NaN", "Infinity"})
  void noNumber_isNothing(double number) {
    assertThat(Amount.of(number)).isEmpty();
  }
}
