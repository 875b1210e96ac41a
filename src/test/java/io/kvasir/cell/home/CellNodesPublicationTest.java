package io.kvasir.cell.home;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.directory.CellNodes;
import io.kvasir.cell.directory.CellNodesKeeper;
import java.util.List;
import java.util.Set;
import org.apache.pekko.actor.testkit.typed.javadsl.TestInbox;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class CellNodesPublicationTest {
  private final TestInbox<CellNodesKeeper.Message> keeper = TestInbox.create();
  private final CellNodesPublication publication =
      new CellNodesPublication("m", keeper.getRef(), (_, work) -> work.run());
  private int moves;

  @Test
  void move_isReceived_onceEveryNodeHasIt() {
    CellNodesKeeper.Put put = publish("a");
    assertThat(publication.isMoveReceived()).isFalse();
    put.onReplicated().run();
    assertThat(publication.isMoveReceived()).isTrue();
    assertThat(moves).isEqualTo(1);
    publication.publish(nodes("a"), () -> moves++);
    assertThat(keeper.hasMessages()).as("nothing new").isFalse();
    publish(null).onReplicated().run();
    assertThat(publication.isMoveReceived()).as("it stays").isFalse();
    assertThat(moves).isEqualTo(1);
  }

  @Test
  void nodesReceiveWhatIsNotTrueAnyMore_nothingComesOfIt() {
    CellNodesKeeper.Put before = publish("a");
    CellNodesKeeper.Put after = publish("b");
    before.onReplicated().run();
    assertThat(publication.isMoveReceived()).isFalse();
    after.onReplicated().run();
    assertThat(publication.isMoveReceived()).isTrue();
  }

  @Test
  void withdrawn_onceUntilItIsPublishedAgain() {
    publication.withdraw(() -> moves++);
    assertThat(keeper.hasMessages()).as("nothing was published").isFalse();
    CellNodesKeeper.Put put = publish("a");
    publication.withdraw(() -> moves++);
    publication.withdraw(() -> moves++);
    CellNodesKeeper.Remove removal = (CellNodesKeeper.Remove) keeper.receiveMessage();
    assertThat(keeper.hasMessages()).isFalse();
    put.onReplicated().run();
    assertThat(moves).isZero();
    removal.onReplicated().run();
    assertThat(moves).isEqualTo(1);
    assertThat(publication.isMoveReceived()).isFalse();
    assertThat(publish("a").cellNodes()).isEqualTo(nodes("a"));
  }

  private CellNodesKeeper.Put publish(@Nullable String movingTo) {
    publication.publish(nodes(movingTo), () -> moves++);
    return (CellNodesKeeper.Put) keeper.receiveMessage();
  }

  private static CellNodes nodes(@Nullable String movingTo) {
    return new CellNodes("home", List.of("a", "b"), Set.of("a"), movingTo, 1);
  }
}
