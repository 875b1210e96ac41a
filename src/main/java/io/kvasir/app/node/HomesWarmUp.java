package io.kvasir.app.node;

import io.kvasir.cell.Cells;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.index.Chain;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The part of a {@link WarmUp} in which other nodes take part: the homes of this node's cells are asked how they would
 * decide, which books and counts nothing. The first request finds the connection to its cell's home open, and both ends
 * have done before what it takes.
 */
final class HomesWarmUp implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(WarmUp.class);

  /** Each takes a home up to some milliseconds, where a cell has hundreds of workers. */
  private static final int QUESTIONS = 60;

  private static final int BLOCKS = 50;
  private static final int BLOCK_SIZE = 16;
  private static final Duration POLL = Duration.ofMillis(20);

  private final Cells cells;
  private final Thread asking;

  private HomesWarmUp(Cells cells, Duration limit) {
    this.cells = cells;
    this.asking = Thread.ofVirtual().name(WarmUp.NAME + "-homes").unstarted(() -> exercise(limit));
  }

  /** Begins to ask, as soon as the node knows of cells; ends at the limit, or when it is closed. */
  static HomesWarmUp begin(Cells cells, Duration limit) {
    HomesWarmUp begun = new HomesWarmUp(cells, limit);
    begun.asking.start();
    return begun;
  }

  private void exercise(Duration limit) {
    long start = System.nanoTime();
    Random random = new Random(1);
    int asked = 0;
    try {
      while (asked < QUESTIONS && System.nanoTime() - start < limit.toNanos()) {
        List<String> models = List.copyOf(cells.models());
        if (models.isEmpty()) {
          Thread.sleep(POLL);
        } else {
          cells.explain(request(models.get(asked % models.size()), random));
          asked++;
        }
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
    LOG.debug("the homes of cells were asked {} times in {} ms", asked, (System.nanoTime() - start) / 1_000_000);
  }

  @Override
  public void close() {
    asking.interrupt();
  }

  private static DecisionRequest request(String model, Random random) {
    Chain chain = new Chain(random.longs(BLOCKS).toArray(), BLOCK_SIZE);
    return new DecisionRequest(
        WarmUp.NAME, model, null, RequestShape.TEXT, new DecisionRequest.Prompt(chain, BLOCKS * BLOCK_SIZE),
        PreparedSlots.EMPTY, false, DecisionRequest.Constraints.NONE);
  }
}
