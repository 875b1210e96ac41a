package io.kvasir.app.admin;

import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.config.NamedCertificate;
import io.kvasir.cell.PodSpec;
import io.kvasir.doctor.exam.CertificateExam;
import io.kvasir.doctor.exam.EngineTarget;
import java.util.ArrayList;
import java.util.List;

/** What of a configuration is examined. */
final class ExaminedConfig {
  private ExaminedConfig() {}

  /** The engines of its pods. */
  static List<EngineTarget> engines(KvasirConfig config) {
    List<EngineTarget> engines = new ArrayList<>();
    for (PodSpec pod : config.fleet().pods()) {
      engines.add(
          new EngineTarget(
              pod.name(), pod.url(), config.fleet().podKeys().of(pod.url()), pod.models(), pod.engine().blockSize(),
              pod.engine().ranks(), pod.events()));
    }
    return engines;
  }

  /** The certificates it names. */
  static List<CertificateExam> certificates(KvasirConfig config) {
    return NamedCertificate.of(config).stream()
        .map(named -> CertificateExam.of(named.setting(), named.file(), named.host()))
        .toList();
  }
}
