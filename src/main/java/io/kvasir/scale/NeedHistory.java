package io.kvasir.scale;

/** The needs of the last while, oldest first; bounded. One thread. */
final class NeedHistory {
  /** A slope counts when it is so many times its standard error. */
  private static final double SIGNIFICANCE = 3;

  private static final int FEWEST = 8;

  private final double[] seconds;
  private final double[] needs;
  private final double[] forecasts;
  private int end;
  private int size;

  NeedHistory(int capacity) {
    this.seconds = new double[capacity];
    this.needs = new double[capacity];
    this.forecasts = new double[capacity];
  }

  /** Adds a need at a time not before the last one. */
  void add(double atSeconds, double need) {
    seconds[end] = atSeconds;
    needs[end] = need;
    forecasts[end] = need;
    end = (end + 1) % needs.length;
    size = Math.min(size + 1, needs.length);
  }

  /** Sets what was forecast when the last need was added. */
  void forecast(double need) {
    forecasts[Math.floorMod(end - 1, needs.length)] = need;
  }

  /** How many needs there are of the last {@code window} seconds. */
  int count(double window) {
    int count = 0;
    while (count < size && age(count) <= window) {
      count++;
    }
    return count;
  }

  /** The mean need of the last {@code window} seconds. */
  double mean(double window) {
    double sum = 0;
    int count = 0;
    for (int back = 0; back < size && age(back) <= window; back++) {
      sum += needs[at(back)];
      count++;
    }
    return count == 0 ? 0 : sum / count;
  }

  /** The highest forecast of the last {@code window} seconds. */
  double highestForecast(double window) {
    double highest = 0;
    for (int back = 0; back < size && age(back) <= window; back++) {
      highest = Math.max(highest, forecasts[at(back)]);
    }
    return highest;
  }

  /** Whether it reaches so many seconds back. */
  boolean covers(double window) {
    return size > 0 && (age(size - 1) >= window || size == needs.length);
  }

  /** The line through the needs of the last {@code window} seconds; flat at their mean where they only scatter. */
  Trend trend(double window) {
    double sumX = 0;
    double sumY = 0;
    int count = 0;
    for (int back = 0; back < size && age(back) <= window; back++) {
      sumX -= age(back);
      sumY += needs[at(back)];
      count++;
    }
    if (count < FEWEST) {
      return new Trend(count == 0 ? 0 : sumY / count, 0, 0);
    }
    double meanX = sumX / count;
    double meanY = sumY / count;
    double xx = 0;
    double xy = 0;
    double yy = 0;
    for (int back = 0; back < count; back++) {
      double x = -age(back) - meanX;
      double y = needs[at(back)] - meanY;
      xx += x * x;
      xy += x * y;
      yy += y * y;
    }
    double slope = xx == 0 ? 0 : xy / xx;
    double scatter = Math.sqrt(Math.max(0, yy - slope * xy) / (count - 2));
    return xx > 0 && Math.abs(slope) > SIGNIFICANCE * scatter / Math.sqrt(xx)
        ? new Trend(meanY - slope * meanX, slope, scatter)
        : new Trend(meanY, 0, scatter);
  }

  /**
   * A line through needs.
   *
   * @param now the need now
   * @param perSecond what is added to it each second
   * @param scatter the standard deviation of needs from it
   */
  record Trend(double now, double perSecond, double scatter) {}

  private double age(int back) {
    return seconds[at(0)] - seconds[at(back)];
  }

  private int at(int back) {
    return Math.floorMod(end - 1 - back, needs.length);
  }
}
