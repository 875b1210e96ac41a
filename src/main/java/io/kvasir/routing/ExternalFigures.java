package io.kvasir.routing;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Numbers that somebody outside says of workers: queue lengths of another system, prices, temperatures. One per
 * process, fed by whoever hears of them and read by plugins. At most {@value #MOST} are kept. Thread-safe; reading
 * never waits.
 */
public final class ExternalFigures {
  private static final int MOST = 16_384;

  private final Map<Key, Figure> figures = new ConcurrentHashMap<>();

  private record Key(String name, String worker) {}

  /** What was said last of one worker. A figure that is asked for before anybody said something is waited for. */
  public static final class Figure {
    private volatile Said said = new Said(Double.NaN, 0);

    private record Said(double value, long nanos) {}

    /** What was said at most {@code mostNanos} before {@code nowNanos}; not a number when nothing was. */
    public double value(long nowNanos, long mostNanos) {
      Said now = said;
      return nowNanos - now.nanos <= mostNanos ? now.value : Double.NaN;
    }
  }

  /**
   * One of the figures that are known.
   *
   * @param name what it is
   * @param worker of whom
   * @param value how much
   * @param ageNanos how long ago it was said
   */
  public record Known(String name, String worker, double value, long ageNanos) {}

  /**
   * Somebody says a figure.
   *
   * @param worker a worker's id
   * @param nanos when, by the clock that decisions go by
   * @return false when there are too many already
   */
  public boolean say(String name, String worker, double value, long nanos) {
    Key key = new Key(name, worker);
    if (!figures.containsKey(key) && figures.size() >= MOST) {
      return false;
    }
    of(key).said = new Figure.Said(value, nanos);
    return true;
  }

  /** Where a worker's figure is said: the same object for ever, so that it need be looked up once. */
  public Figure of(String name, String worker) {
    return of(new Key(name, worker));
  }

  private Figure of(Key key) {
    return figures.computeIfAbsent(key, _ -> new Figure());
  }

  /** Those that have been said, by name and worker. */
  public List<Known> known(long nowNanos) {
    Map<String, Known> known = new TreeMap<>();
    figures.forEach((key, figure) -> {
      Figure.Said said = figure.said;
      if (!Double.isNaN(said.value)) {
        known.put(key.name + "\n" + key.worker, new Known(key.name, key.worker, said.value, nowNanos - said.nanos));
      }
    });
    return new ArrayList<>(known.values());
  }
}
