package io.kvasir.cell;

import io.kvasir.admission.AdmissionSettings;
import io.kvasir.programs.ProgramSettings;
import java.time.Duration;

/**
 * What an operator can set about cells.
 *
 * @param index the size of a cell and its index
 * @param remote what a cell has to do with other nodes than its home
 * @param health how workers are watched
 * @param prediction how long a worker is believed to have what it was sent
 * @param accuracy when a worker's index is not believed any more
 * @param programs what is known of programs, and whether they wait
 * @param admission how requests wait
 * @param fromZero which models may have no worker
 */
public record CellSettings(
    IndexSettings index,
    RemoteSettings remote,
    HealthSettings health,
    PredictionSettings prediction,
    AccuracySettings accuracy,
    ProgramSettings programs,
    AdmissionSettings admission,
    FromZeroSettings fromZero) {
  /** Settings by which no programs are known, no request waits, and every model has workers. */
  public CellSettings(
      IndexSettings index,
      RemoteSettings remote,
      HealthSettings health,
      PredictionSettings prediction,
      AccuracySettings accuracy) {
    this(
        index, remote, health, prediction, accuracy, ProgramSettings.OFF, AdmissionSettings.OFF,
        FromZeroSettings.NONE);
  }

  /** The most workers a cell can have. */
  public static final int MAX_SLOTS = 256;

  /** The prefix of the cluster role that names a node's zone. */
  public static final String ZONE_ROLE = "zone-";

  /**
   * The size of a cell and its index.
   *
   * @param slots workers a cell has room for when it starts: 64, 128 or 256; it makes itself wider up to
   *     {@link #MAX_SLOTS}
   * @param maxWorkers workers a cell may have, 1 to {@link #MAX_SLOTS}; a model with more has several cells
   * @param budgetBytes the most memory a cell's index may take; while it is rebuilt into a wider one each of the two
   *     may take it
   */
  public record IndexSettings(int slots, int maxWorkers, long budgetBytes) {}

  /**
   * What a cell has to do with other nodes than its home.
   *
   * @param decisionTimeout how long a node waits for a decision of another node
   * @param reservationLease how long a reservation held by another node lives unless that node declares it, which it
   *     does several times in that time
   * @param standbys on how many other nodes a cell is copied, as far as there are such nodes
   * @param moveTimeout how long a node waits for a decision while a cell moves as planned
   */
  public record RemoteSettings(
      Duration decisionTimeout, Duration reservationLease, int standbys, Duration moveTimeout) {}

  /**
   * How workers are watched.
   *
   * @param probeInterval between probes of a worker that answers
   * @param probeIntervalDown between probes of one that does not, or has not yet
   * @param breakerFailures error answers in a row that open a worker's circuit
   * @param breakerOpen how long an open circuit keeps requests from the worker
   * @param breakerSuccesses good answers in a row that close it again
   * @param streamDoubt how long a lost event stream takes no worker out after a probe has contradicted it
   * @param reports how engines' own load reports are polled
   * @param stall when a worker that has requests counts as standing still
   */
  public record HealthSettings(
      Duration probeInterval,
      Duration probeIntervalDown,
      int breakerFailures,
      Duration breakerOpen,
      int breakerSuccesses,
      Duration streamDoubt,
      ReportSettings reports,
      StallSettings stall) {}

  /**
   * The polling of engines for their own load reports.
   *
   * @param on whether they are
   * @param interval between two answers of a pod, give or take a tenth
   * @param stale figures older than this are not believed
   */
  public record ReportSettings(boolean on, Duration interval, Duration stale) {}

  /**
   * When a worker that has requests counts as standing still.
   *
   * @param silence without a sign of its engine, at least
   * @param prefillFactor times the estimated milliseconds of the prefill booked on it, when that is longer
   * @param maxSilence never longer than this
   * @param standstill the least silence where it was given nothing more, and its engine's reports of its load do not
   *     move either
   * @param retry when all its requests have left, it is given another one after this, after twice as long when nothing
   *     comes of that, and so on
   */
  public record StallSettings(
      Duration silence, int prefillFactor, Duration maxSilence, Duration standstill, Duration retry) {}

  /**
   * How long a prompt's blocks count as held by the worker it was sent to while its engine has not reported them.
   *
   * @param factor times the estimated milliseconds until the engine has computed it, at least 1
   * @param min never less than this
   * @param max never more than this
   */
  public record PredictionSettings(int factor, Duration min, Duration max) {}

  /**
   * The thresholds beyond which a worker's index is not trusted, because answers report less cached than it predicted.
   *
   * @param answers the last ones that are looked at, at least 8
   * @param wrongShare share of wrong ones among them from which on it is not, above 0 to 1
   * @param tolerance share of a predicted hit that may be missing without a miss (one block always may), 0 to 1
   * @param pause between a worker's first two resynchronisations; each further one is twice as long
   * @param longestPause the pause that does not grow any more
   */
  public record AccuracySettings(
      int answers, double wrongShare, double tolerance, Duration pause, Duration longestPause) {}
}
