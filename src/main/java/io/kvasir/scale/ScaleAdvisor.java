package io.kvasir.scale;

import io.kvasir.scale.NeedHistory.Trend;
import io.kvasir.scale.ScaleAdvice.Activity;
import java.time.Duration;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Sizes one target as its demand goes up and down: more workers at once when it is going to need them, fewer only when
 * they would have done for a while, with room to spare. So a demand that only scatters about a constant leaves the
 * number as it is, and so does what is seen first, of workers that may be found one by one. One thread; time is the
 * caller's.
 *
 * <p>What is to come is the line through the last minutes, where it rises beyond chance, up to the time when a worker
 * ordered now would serve.
 */
public final class ScaleAdvisor {
  private static final double LEVEL_SECONDS = 60;
  private static final double TREND_SECONDS = 600;

  /** Fewer workers are advised only when this much more than what was needed would fit into them, */
  private static final double SPARE = 0.15;

  /** and so many standard deviations of the mean of a minute. */
  private static final double SPARE_DEVIATIONS = 3;

  /** A line reaches no further than to this many times of what is needed now. */
  private static final double STEEPEST = 2;

  private static final int MOST_SAMPLES = 2048;

  private final ScaleTarget target;
  private final ScaleGoals goals;
  private final NeedHistory history = new NeedHistory(MOST_SAMPLES);
  private int desired = -1;

  /** For one target. */
  public ScaleAdvisor(ScaleTarget target, ScaleGoals goals) {
    this.target = target;
    this.goals = goals;
  }

  /**
   * The number of workers, given what there is to do now.
   *
   * @param seconds the time, not before that of the call before
   */
  public ScaleAdvice advise(double seconds, FleetDemand demand, WorkerCapacity capacity) {
    Need need = Need.of(demand, target.role(), capacity, goals);
    history.add(seconds, need.workers());
    double level = history.mean(LEVEL_SECONDS);
    Trend trend = history.trend(TREND_SECONDS);
    double rise = Math.max(0, trend.perSecond());
    double forecast =
        Math.max(level, Math.min(STEEPEST * level, trend.now() + rise * seconds(goals.startup())));
    history.forecast(forecast);
    int least = demand.isActive() ? Math.max(1, goals.least()) : goals.least();
    int now = clamp(level, least);
    int ahead = clamp(forecast, least);
    int before = history.covers(seconds(goals.settle())) ? desired : Math.max(desired, clamp(demand.workers(), least));
    double deviation = trend.scatter() / Math.sqrt(history.count(LEVEL_SECONDS));
    desired = next(before, ahead, least, deviation);
    Activity activity = activity(demand);
    String reason =
        activity == Activity.UNKNOWN
            ? "not known yet: none of its workers has been found, and not for long"
            : reason(need, demand, level, now, ahead, least, rise > 0 ? trend : null);
    return new ScaleAdvice(
        target, demand, capacity, headroom(demand, capacity), now, ahead, desired, reason, activity);
  }

  /** Goes on from a number that another advisor has come to for the same demand. */
  public void follow(int other) {
    desired = other;
  }

  /** More at once; fewer when the highest that was expected in a while would fit into them with something to spare. */
  private int next(int before, int ahead, int least, double deviation) {
    if (ahead >= before || !history.covers(seconds(goals.settle()))) {
      return Math.max(ahead, before);
    }
    double highest = history.highestForecast(seconds(goals.settle()));
    return Math.min(before, clamp(highest + Math.max(SPARE * highest, SPARE_DEVIATIONS * deviation), least));
  }

  /** Who has just begun to watch does not know what was to be done a moment ago, nor which workers there are. */
  private Activity activity(FleetDemand demand) {
    if (demand.isActive()) {
      return Activity.ACTIVE;
    }
    if (history.covers(seconds(goals.settle()))) {
      return Activity.IDLE;
    }
    if (demand.workers() > 0) {
      return Activity.ACTIVE;
    }
    return history.covers(LEVEL_SECONDS) ? Activity.IDLE : Activity.UNKNOWN;
  }

  private int clamp(double workers, int least) {
    return Math.clamp((long) Math.ceil(workers - 1e-9), least, goals.most());
  }

  private double headroom(FleetDemand demand, WorkerCapacity capacity) {
    return demand.ready() == 0
        ? 0
        : Math.clamp(1 - Need.pace(demand, target.role(), capacity, goals) / demand.ready(), 0, 1);
  }

  private String reason(
      Need need, FleetDemand demand, double level, int now, int ahead, int least, @Nullable Trend rising) {
    if (desired > ahead) {
      return "fewer would do (%d), but not for %s yet with enough to spare".formatted(
          ahead, words(goals.settle()));
    }
    if (ahead == goals.most() && ahead > least) {
      return "the most that there may be; " + because(need, demand, level);
    }
    if (ahead > now && rising != null) {
      return String.format(
          Locale.ROOT, "%s; rising by %.1f workers in %s, which a new one takes to serve", because(need, demand, level),
          rising.perSecond() * seconds(goals.startup()), words(goals.startup()));
    }
    return ahead == least && level <= least ? "the fewest that there are to be" : because(need, demand, level);
  }

  private String because(Need need, FleetDemand demand, double level) {
    String why =
        switch (need.limit()) {
          case PREFILL -> "prompts to be read, in %.0f %% of the time".formatted(goals.prefillShare() * 100);
          case BACKLOG -> "prompts that wait for longer than " + words(goals.firstToken());
          case PACE -> "answers to be generated at " + goals.perToken().toMillis() + " ms per token";
          case MEMORY -> "KV blocks of the requests in flight";
          case SLOTS -> demand.backlog().requests() > 0 ? "requests in flight or waiting" : "requests in flight";
        };
    return String.format(Locale.ROOT, "%.1f workers for %s", level, why);
  }

  private static String words(Duration time) {
    return time.toMillis() % 60_000 == 0 ? time.toMinutes() + " min" : seconds(time) + " s";
  }

  private static double seconds(Duration time) {
    return time.toNanos() / 1e9;
  }
}
