package io.kvasir.lab;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.DoubleAdder;
import java.util.function.DoubleConsumer;

/** The laboratory: runs a plan on all cores. */
public final class Lab {
  private static final long TICK_MS = 200;

  private Lab() {}

  /**
   * Runs every combination, each on one of as many threads as there are cores.
   *
   * @param progress receives the share of the work that is done, 0 to 1, from time to time, on the calling thread
   * @return the reports in the order of the plan
   * @throws InterruptedException when the caller is interrupted; the runs are then abandoned
   */
  public static List<RunReport> run(LabPlan plan, DoubleConsumer progress) throws InterruptedException {
    DoubleAdder done = new DoubleAdder();
    List<Future<RunReport>> running = new ArrayList<>();
    int cores = Runtime.getRuntime().availableProcessors();
    ThreadFactory daemons = Thread.ofPlatform().daemon().name("lab-", 0).factory();
    ExecutorService threads = Executors.newFixedThreadPool(cores, daemons);
    try {
      for (LabPlan.Run run : plan.runs()) {
        running.add(threads.submit(() -> new LabRun(run, done).execute()));
      }
      List<RunReport> reports = new ArrayList<>();
      for (Future<RunReport> future : running) {
        reports.add(await(future, () -> progress.accept(done.sum() / plan.runs().size())));
      }
      return reports;
    } finally {
      threads.shutdownNow();
    }
  }

  private static RunReport await(Future<RunReport> future, Runnable meanwhile) throws InterruptedException {
    while (true) {
      try {
        meanwhile.run();
        return future.get(TICK_MS, TimeUnit.MILLISECONDS);
      } catch (TimeoutException notYet) {
        // Waits again.
      } catch (ExecutionException failed) {
        throw new IllegalStateException("a run of the laboratory failed", failed.getCause());
      }
    }
  }
}
