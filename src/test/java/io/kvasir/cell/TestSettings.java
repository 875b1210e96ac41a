package io.kvasir.cell;

import io.kvasir.admission.AdmissionSettings;
import io.kvasir.admission.AdmissionSettings.ClassSettings;
import io.kvasir.admission.ServiceClass;
import io.kvasir.cell.CellSettings.AccuracySettings;
import io.kvasir.cell.CellSettings.HealthSettings;
import io.kvasir.cell.CellSettings.IndexSettings;
import io.kvasir.cell.CellSettings.PredictionSettings;
import io.kvasir.cell.CellSettings.RemoteSettings;
import io.kvasir.cell.CellSettings.ReportSettings;
import io.kvasir.cell.CellSettings.StallSettings;
import io.kvasir.peer.PeerConnections;
import io.kvasir.peer.PeerSettings;
import io.kvasir.programs.ProgramSettings;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;

/** Settings of cells in tests. */
public final class TestSettings {
  public static final AccuracySettings TRUTH =
      new AccuracySettings(32, 0.25, 0.1, Duration.ofSeconds(10), Duration.ofSeconds(60));

  public static final StallSettings WEDGE =
      new StallSettings(
          Duration.ofSeconds(3), 2, Duration.ofSeconds(60), Duration.ofSeconds(20), Duration.ofSeconds(30));

  static final ReportSettings REPORTS = new ReportSettings(true, Duration.ofSeconds(1), Duration.ofSeconds(5));

  public static final CellSettings CELL =
      new CellSettings(
          new IndexSettings(64, 256, 1 << 26),
          new RemoteSettings(Duration.ofSeconds(3), Duration.ofMinutes(10), 1, Duration.ofSeconds(5)),
          new HealthSettings(Duration.ofSeconds(5), Duration.ofMillis(50), 10, Duration.ofSeconds(60), 3,
              Duration.ofSeconds(60), REPORTS, WEDGE),
          new PredictionSettings(10, Duration.ofSeconds(2), Duration.ofMinutes(5)),
          TRUTH);

  private TestSettings() {}

  /** Those of {@link #CELL} with another size. */
  public static CellSettings with(IndexSettings index) {
    return new CellSettings(index, CELL.remote(), CELL.health(), CELL.prediction(), CELL.accuracy());
  }

  /** Those of {@link #CELL} with requests that wait. */
  public static CellSettings with(AdmissionSettings admission) {
    return with(CELL.programs(), admission);
  }

  /** Those of {@link #CELL} with programs, and requests that wait. */
  public static CellSettings with(ProgramSettings programs, AdmissionSettings admission) {
    return new CellSettings(
        CELL.index(), CELL.remote(), CELL.health(), CELL.prediction(), CELL.accuracy(), programs, admission,
        FromZeroSettings.NONE);
  }

  /** The same for every class. */
  public static Map<ServiceClass, ClassSettings> ofEveryClass(ClassSettings same) {
    Map<ServiceClass, ClassSettings> classes = new EnumMap<>(ServiceClass.class);
    for (ServiceClass each : ServiceClass.values()) {
      classes.put(each, same);
    }
    return classes;
  }

  /** A node's lines on loopback. */
  public static PeerConnections lines() {
    try {
      return PeerConnections.bind(PeerSettings.on("127.0.0.1"), null, NanoClock.SYSTEM);
    } catch (IOException noFreePort) {
      throw new UncheckedIOException(noFreePort);
    }
  }
}
