package io.kvasir.index;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A short look at each model's interleavings; {@code IndexModelCheck} looks longer. */
final class BlockIndexModelTest {
  @ParameterizedTest
  @EnumSource(IndexModel.Kind.class)
  void index_underEveryInterleavingTried_isLinearizable(IndexModel.Kind model) {
    model.check(0, 4);
  }
}
