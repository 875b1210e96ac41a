package io.kvasir.cell.view;

import io.kvasir.cell.LearntEngines;
import io.kvasir.cell.worker.Member;
import io.kvasir.telemetry.Problem;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The views of the cells whose home is this node. Thread-safe. */
public final class CellViews {
  private static final int MAX_FAULTS = 10;
  private static final String SEE_WORKERS =
      "read the engine's own log, or drain the worker; GET /admin/workers has the state of each";

  private final Map<String, CellView> views = new ConcurrentHashMap<>();
  private final HealthLog healthLog = new HealthLog();
  private final LearntEngines learntEngines = new LearntEngines();

  /** Publishes the view of a cell that has come to this node. */
  public void publish(String cell, CellView view) {
    views.put(cell, view);
  }

  /** Takes a view out, unless a newer one of the same cell has taken its place. */
  public void withdraw(String cell, CellView view) {
    views.remove(cell, view);
  }

  /** The view of a cell, null when this node is not its home. */
  public @Nullable CellView of(String cell) {
    return views.get(cell);
  }

  /** The workers of these cells that answer, but not as they should; bounded. */
  public List<Problem> problems() {
    List<Problem> faults = new ArrayList<>();
    int more = 0;
    for (CellView view : views.values()) {
      for (Member member : view.members()) {
        String fault = member == null ? null : fault(member, view.promptBlockSize().current());
        if (member != null && fault != null) {
          if (faults.size() < MAX_FAULTS) {
            faults.add(Problem.warning("worker %s: %s".formatted(member.worker().id(), fault), SEE_WORKERS));
          } else {
            more++;
          }
        }
      }
    }
    if (more > 0) {
      faults.add(Problem.warning("%d more workers do not answer as they should".formatted(more), SEE_WORKERS));
    }
    return faults;
  }

  private static @Nullable String fault(Member member, int promptBlock) {
    String fault = member.health().answerFault();
    return fault == null && member.cache().isUncut(promptBlock)
        ? "its blocks have %d tokens and cannot be cut as prompts are, into %d, since it shares them by more than their"
                .formatted(member.cache().events().blockSize(), promptBlock)
            + " tokens, or they are too large: nothing of it is found; give its model that block-size"
        : fault;
  }

  /** The last changes of their workers' health. */
  public HealthLog healthLog() {
    return healthLog;
  }

  /** What is known of their workers' engines. */
  public LearntEngines learntEngines() {
    return learntEngines;
  }

  /** By the cells' names. */
  public Map<String, CellView> all() {
    return views;
  }
}
