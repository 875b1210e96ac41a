package io.kvasir.app.config;

import io.kvasir.admission.AdmissionSettings;
import io.kvasir.cell.CellSettings;
import io.kvasir.cell.CellSettings.AccuracySettings;
import io.kvasir.cell.CellSettings.HealthSettings;
import io.kvasir.cell.CellSettings.IndexSettings;
import io.kvasir.cell.CellSettings.PredictionSettings;
import io.kvasir.cell.CellSettings.RemoteSettings;
import io.kvasir.cell.CellSettings.ReportSettings;
import io.kvasir.cell.CellSettings.StallSettings;
import io.kvasir.cell.FromZeroSettings;
import io.kvasir.programs.ProgramSettings;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.function.IntToLongFunction;

/** Reads {@code kvasir.cell} and its sections. */
final class CellSettingsReader {
  private CellSettingsReader() {}

  /**
   * Reads them.
   *
   * @param programs what is to be known of programs
   * @param admission how requests wait
   * @param fromZero which models may have no worker
   * @param automatic the limit of an index where the operator sets none, in bytes, by the most workers of a cell
   */
  static CellSettings read(
      ConfigSection cell, ProgramSettings programs, AdmissionSettings admission, FromZeroSettings fromZero,
      IntToLongFunction automatic) {
    int slots = cell.count("slots", 64, 256);
    if (slots != 64 && slots != 128 && slots != 256) {
      cell.fault("slots", "has to be 64, 128 or 256, not " + slots);
    }
    int maxWorkers = cell.count("most-workers", 1, CellSettings.MAX_SLOTS);
    OptionalLong budget = cell.bytesOrAuto("index-budget");
    CellSettings settings =
        new CellSettings(
            new IndexSettings(
                slots, maxWorkers, budget.isPresent() ? budget.getAsLong() : automatic.applyAsLong(maxWorkers)),
            new RemoteSettings(
                cell.duration("decision-timeout"),
                cell.duration("reservation-lease"),
                cell.count("standbys", 0, 16),
                cell.duration("move-timeout")),
            health(cell.section("health")),
            prediction(cell.section("prediction")),
            accuracy(cell.section("truth")),
            programs,
            admission,
            fromZero);
    cell.rejectUnread();
    return settings;
  }

  /** The time limit of a health probe, which belongs to the probe and not to the cell. */
  static Duration probeTimeout(ConfigSection cell) {
    return cell.section("health").duration("probe-timeout");
  }

  private static HealthSettings health(ConfigSection health) {
    health.has("probe-timeout");
    HealthSettings settings =
        new HealthSettings(
            health.duration("probe-interval"),
            health.duration("probe-interval-down"),
            health.count("breaker-failures", 1, 1_000_000),
            health.duration("breaker-open"),
            health.count("breaker-successes", 1, 1_000_000),
            health.duration("stream-doubt"),
            reports(health.section("reports")),
            wedge(health.section("wedge")));
    health.rejectUnread();
    return settings;
  }

  private static ReportSettings reports(ConfigSection reports) {
    Duration interval = reports.duration("interval");
    Duration stale = reports.duration("stale");
    if (stale.compareTo(interval.multipliedBy(2)) < 0) {
      reports.fault("stale", "has to be at least two intervals: one answer may be late");
    }
    ReportSettings settings = new ReportSettings(reports.flag("enabled"), interval, stale);
    reports.rejectUnread();
    return settings;
  }

  private static StallSettings wedge(ConfigSection wedge) {
    Duration silence = wedge.duration("silence");
    Duration longest = wedge.duration("longest");
    if (longest.compareTo(silence) < 0) {
      wedge.fault("longest", "has to be at least silence");
    }
    Duration standstill = wedge.duration("standstill");
    if (standstill.compareTo(silence) < 0) {
      wedge.fault("standstill", "has to be at least silence");
    }
    StallSettings settings =
        new StallSettings(
            silence, wedge.count("prefill-factor", 1, 1000), longest, standstill, wedge.duration("retry"));
    wedge.rejectUnread();
    return settings;
  }

  private static PredictionSettings prediction(ConfigSection prediction) {
    Duration least = prediction.duration("expiry-min");
    Duration most = prediction.duration("expiry-max");
    if (most.compareTo(least) < 0) {
      prediction.fault("expiry-max", "has to be at least expiry-min");
    }
    PredictionSettings settings = new PredictionSettings(prediction.count("expiry-factor", 1, 10_000), least, most);
    prediction.rejectUnread();
    return settings;
  }

  private static AccuracySettings accuracy(ConfigSection section) {
    Duration pause = section.duration("resync-pause");
    Duration longest = section.duration("resync-pause-max");
    if (longest.compareTo(pause) < 0) {
      section.fault("resync-pause-max", "has to be at least resync-pause");
    }
    double share = section.share("wrong-share");
    if (share == 0) {
      section.fault("wrong-share", "has to be above 0: with 0 no worker would ever be believed");
    }
    AccuracySettings settings =
        new AccuracySettings(section.count("answers", 8, 10_000), share, section.share("tolerance"), pause, longest);
    section.rejectUnread();
    return settings;
  }
}
