package io.kvasir.events;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** The vectors are of TensorRT-LLM's own functions, for blocks of 4 tokens. */
final class TensorRtKeysTest {
  private static final int[] TOKENS = {1, 2, 3, 4};

  @Test
  void keysOfTokensAlone_areThoseOfAllThreeWays() {
    assertThat(TensorRtKeys.mixed(TOKENS)).isEqualTo(924206229973855L);
    assertThat(HexFormat.of().formatHex(TensorRtKeys.digest(TOKENS)))
        .isEqualTo("e432228522a304ab556d66e6e40979ad05575f28b19b554264dd3c6277aaf073");

    assertThat(TensorRtKeys.isOf(TOKENS, 924206229973855L)).isTrue();
    assertThat(TensorRtKeys.isOf(TOKENS, Long.parseUnsignedLong("16443243144690205867"))).isTrue();
    assertThat(TensorRtKeys.isOf(TOKENS, Long.parseUnsignedLong("64dd3c6277aaf073", 16))).isTrue();
  }

  @Test
  void keysUnderAnAdapterOrASalt_areOthers() {
    assertThat(TensorRtKeys.isOf(TOKENS, 1405807694910447675L)).as("adapter 7").isFalse();
    assertThat(TensorRtKeys.isOf(TOKENS, 8961321873627678067L)).as("salt tenant-a").isFalse();
  }

  @Test
  void tokensAreUnsigned() {
    assertThat(TensorRtKeys.mixed(new int[] {-1})).isNotEqualTo(TensorRtKeys.mixed(new int[] {1}));
  }
}
