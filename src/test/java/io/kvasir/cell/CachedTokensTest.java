package io.kvasir.cell;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

final class CachedTokensTest {
  @Test
  void regret_isTheShareOfAvoidableTokensAmongTheComputed() {
    CachedTokens cached = new CachedTokens(100, 0, 400, 500);

    assertThat(cached.avoidable()).isEqualTo(300);
    assertThat(cached.regret(1000)).isCloseTo((400 - 100) / ((1000.0 - 400) + (400 - 100)), within(1e-12));
  }

  @Test
  void regret_bestWasChosen_isNone() {
    assertThat(new CachedTokens(400, 0, 400, 500).regret(1000)).isZero();
    assertThat(CachedTokens.NONE.regret(1)).isZero();
  }

  /** A node of an earlier version sends neither. */
  @Test
  void bestAndEver_areNeverLessThanWhatIsHeldAnyway() {
    assertThat(new CachedTokens(100, 50, 0, 0)).isEqualTo(new CachedTokens(100, 50, 100, 100));
  }
}
