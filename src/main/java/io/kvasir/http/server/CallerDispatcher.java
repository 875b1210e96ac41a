package io.kvasir.http.server;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.http.ConnectionThread;
import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Adapter;
import org.apache.pekko.dispatch.DispatcherConfigurator;
import org.apache.pekko.dispatch.DispatcherPrerequisites;
import org.apache.pekko.dispatch.Dispatchers;
import org.apache.pekko.dispatch.ExecutorServiceConfigurator;
import org.apache.pekko.dispatch.ExecutorServiceFactory;

/**
 * A dispatcher that runs an actor on the virtual thread that has something for it. A connection's stream
 * is fed by what its client sends and by the thread of the exchange; both may block, so handing the stream's
 * work to a third would only cost a hop. The mailbox still lets one thread in at a time: the second one
 * leaves its message and goes on. On other threads (a timer, the system's own) the work gets a virtual
 * thread, for it may block in a write.
 */
final class CallerDispatcher extends DispatcherConfigurator {
  private static final String ID = "kvasir-http-connections";

  private CallerDispatcher(Config config, DispatcherPrerequisites prerequisites) {
    super(config, prerequisites);
  }

  /** The dispatcher's name in this system, registered on the first call. */
  static String in(ActorSystem<?> system) {
    Dispatchers dispatchers = Adapter.toClassic(system).dispatchers();
    if (!dispatchers.hasDispatcher(ID)) {
      // A turn ends when the mailbox is empty: the thread that runs it has nothing else to do.
      Config config =
          ConfigFactory.parseString("id = " + ID + ", throughput = 1000, executor = caller")
              .withFallback(dispatchers.defaultDispatcherConfig());
      dispatchers.registerConfigurator(ID, new CallerDispatcher(config, dispatchers.prerequisites()));
    }
    return ID;
  }

  @Override
  public ExecutorServiceConfigurator configureExecutor() {
    return new Caller(config(), prerequisites());
  }

  private static final class Caller extends ExecutorServiceConfigurator {
    Caller(Config config, DispatcherPrerequisites prerequisites) {
      super(config, prerequisites);
    }

    @Override
    public ExecutorServiceFactory createExecutorServiceFactory(String id, ThreadFactory threads) {
      return CallerExecutor::new;
    }
  }

  private static final class CallerExecutor extends AbstractExecutorService {
    private volatile boolean shutdown;

    @Override
    public void execute(Runnable task) {
      if (Thread.currentThread().isVirtual()) {
        task.run();
      } else {
        ConnectionThread.startOnCurrent("http-connection", task, true);
      }
    }

    @Override
    public void shutdown() {
      shutdown = true;
    }

    @Override
    public List<Runnable> shutdownNow() {
      shutdown = true;
      return List.of();
    }

    @Override
    public boolean isShutdown() {
      return shutdown;
    }

    @Override
    public boolean isTerminated() {
      return shutdown;
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) {
      return shutdown;
    }
  }
}
