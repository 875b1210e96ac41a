package io.kvasir.events;

import java.util.function.Function;
import org.apache.pekko.NotUsed;
import org.apache.pekko.stream.Attributes;
import org.apache.pekko.stream.Outlet;
import org.apache.pekko.stream.SourceShape;
import org.apache.pekko.stream.stage.AbstractOutHandler;
import org.apache.pekko.stream.stage.AsyncCallback;
import org.apache.pekko.stream.stage.GraphStage;
import org.apache.pekko.stream.stage.GraphStageLogic;
import org.jspecify.annotations.Nullable;

/** The stream stage over a {@link BatchQueue} that another thread fills. */
final class BatchStage extends GraphStage<SourceShape<KvBatch>> {
  private final Outlet<KvBatch> out = Outlet.create("batches");
  private final Function<BatchQueue, Runnable> subscribe;
  private final EventMetrics.SourceMetrics metrics;

  /**
   * A stage each materialisation of which has a subscription of its own.
   *
   * @param subscribe begins to fill a queue and returns a function that ends that; called once per materialisation
   */
  BatchStage(Function<BatchQueue, Runnable> subscribe, EventMetrics.SourceMetrics metrics) {
    this.subscribe = subscribe;
    this.metrics = metrics;
  }

  @Override
  public SourceShape<KvBatch> shape() {
    return SourceShape.of(out);
  }

  @Override
  public GraphStageLogic createLogic(Attributes attributes) {
    return new Logic();
  }

  private final class Logic extends GraphStageLogic {
    private final AsyncCallback<NotUsed> wake = createAsyncCallback(_ -> pump());
    private final BatchQueue queue = new BatchQueue(() -> wake.invoke(NotUsed.getInstance()), metrics);
    private @Nullable Runnable cancel;

    Logic() {
      super(shape());
      setHandler(
          out,
          new AbstractOutHandler() {
            @Override
            public void onPull() {
              pump();
            }
          });
    }

    @Override
    public void preStart() {
      cancel = subscribe.apply(queue);
    }

    @Override
    public void postStop() {
      // First, so that a producer that others share does not wait for a consumer that is no more.
      queue.abandon();
      if (cancel != null) {
        cancel.run();
      }
    }

    private void pump() {
      if (!isAvailable(out)) {
        if (queue.exhausted()) {
          end();
        }
        return;
      }
      BatchQueue.Item item = queue.poll();
      if (item != null) {
        metrics.delivered(item.batch());
        if (item.live() && item.batch().publishedAt() > 0) {
          metrics.lag(System.currentTimeMillis() * 1000 - item.batch().publishedAt());
        }
        push(out, item.batch());
      } else if (queue.exhausted()) {
        end();
      }
    }

    private void end() {
      Throwable failure = queue.failure();
      if (failure == null) {
        complete(out);
      } else {
        fail(out, failure);
      }
    }
  }
}
