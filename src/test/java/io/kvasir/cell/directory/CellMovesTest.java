package io.kvasir.cell.directory;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.CellMove;
import io.kvasir.cell.CellMove.Reason;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class CellMovesTest {
  private static final String A = "pekko://kvasir@10.0.0.1:7355#1";
  private static final String B = "pekko://kvasir@10.0.0.2:7355#1";

  private long now = 5;
  private final CellMoves moves = new CellMoves(() -> Instant.ofEpochMilli(now));

  @Test
  void move_isToldWithItsReason() {
    moves.add(at(A), at(B), Set.of(A, B));
    moves.add(at(B), at(A), Set.of(A));
    now = 60_000;
    moves.nodeLeaves(A);
    moves.add(at(A), at(B), Set.of(B));

    assertThat(moves.latest()).containsExactly(
        new CellMove(60_000, "m", "10.0.0.1:7355", "10.0.0.2:7355", Reason.HOME_LEFT),
        new CellMove(5, "m", "10.0.0.2:7355", "10.0.0.1:7355", Reason.HOME_LOST),
        new CellMove(5, "m", "10.0.0.1:7355", "10.0.0.2:7355", Reason.BALANCE));
  }

  @Test
  void move_ofANodeThatIsHeardToLeaveSoonAfter_isItsHandover() {
    moves.add(at(B), at(A), Set.of(A, B));
    now += 5_000;
    moves.add(at(A), at(B), Set.of(A, B));
    now += 5_000;
    moves.nodeLeaves(A);

    assertThat(moves.latest()).extracting(CellMove::reason).containsExactly(Reason.HOME_LEFT, Reason.BALANCE);
  }

  @Test
  void cellsThatStayOrAreNew_haveNotMoved() {
    moves.add(at(A), at(A), Set.of(A));
    moves.add(Map.of(), at(A), Set.of(A));
    moves.add(at(A), Map.of(), Set.of(A));

    assertThat(moves.latest()).isEmpty();
  }

  @Test
  void moves_areKeptInALimitedNumber() {
    for (int i = 0; i < 2 * CellMoves.MOST; i++) {
      moves.add(at(i % 2 == 0 ? A : B), at(i % 2 == 0 ? B : A), Set.of(A, B));
      moves.nodeLeaves("node-" + i);
    }

    assertThat(moves.latest()).hasSize(CellMoves.MOST);
  }

  private static Map<String, CellNodes> at(String home) {
    return Map.of("m", new CellNodes(home, List.of(), Set.of(), null, 0));
  }
}
