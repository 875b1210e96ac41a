package io.kvasir.cell.directory;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.TestMembers;
import java.time.InstantSource;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.DispatcherSelector;
import org.apache.pekko.actor.typed.PostStop;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.typed.Cluster;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The keeper of a cluster's only node, which is to have copies of cells that are at home elsewhere. */
final class CellNodesKeeperTest {
  private static final String ELSEWHERE = "pekko://kvasir@10.0.0.2:7355#1";

  private final ActorSystem<Void> system = TestMembers.start(null);
  private final String node = NodeNames.of(Cluster.get(system).selfMember().uniqueAddress());
  private final NodesByCell published = new NodesByCell();

  /** The cells whose standbys run. */
  private final Set<String> copied = ConcurrentHashMap.newKeySet();

  private final ActorRef<CellNodesKeeper.Message> keeper =
      system.systemActorOf(
          CellNodesKeeper.create(
              published, new CellMoves(InstantSource.system()), DispatcherSelector.defaultDispatcher(),
              (cell, _) -> standby(cell)),
          "keeper",
          Props.empty());

  private Behavior<Void> standby(String cell) {
    return Behaviors.setup(
        _ -> {
          copied.add(cell);
          return Behaviors.receive(Void.class)
              .onSignal(
                  PostStop.class,
                  _ -> {
                    copied.remove(cell);
                    return Behaviors.same();
                  })
              .build();
        });
  }

  @AfterEach
  void stop() {
    TestMembers.stop(List.of(system));
  }

  @Test
  void standby_stops_whenAnotherNodeIsToHaveTheCopy_andWhenTheCellEnds() {
    put("moves", new CellNodes(ELSEWHERE, List.of(node), Set.of(), null, 0));
    put("ends", new CellNodes(ELSEWHERE, List.of(node), Set.of(), null, 0));
    put("stays", new CellNodes(ELSEWHERE, List.of(node), Set.of(), null, 0));
    await(() -> copied.equals(Set.of("moves", "ends", "stays")));

    put("moves", new CellNodes(ELSEWHERE, List.of(), Set.of(), null, 0));
    CompletableFuture<Void> removed = new CompletableFuture<>();
    keeper.tell(new CellNodesKeeper.Remove("ends", () -> removed.complete(null)));
    removed.join();

    await(() -> copied.equals(Set.of("stays")));
    assertThat(published.all()).containsOnlyKeys("moves", "stays");
    put("ends", new CellNodes(ELSEWHERE, List.of(node), Set.of(), null, 0));
    await(() -> copied.equals(Set.of("stays", "ends")));
  }

  private void put(String cell, CellNodes nodes) {
    CompletableFuture<Void> done = new CompletableFuture<>();
    keeper.tell(new CellNodesKeeper.Put(cell, nodes, () -> done.complete(null)));
    done.join();
  }
}
