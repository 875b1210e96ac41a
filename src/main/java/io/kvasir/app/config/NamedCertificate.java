package io.kvasir.app.config;

import com.typesafe.config.Config;
import io.kvasir.http.TlsFiles;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A certificate that a configuration names.
 *
 * @param setting the section that names it, such as {@code kvasir.gateway.tls}
 * @param file where it is
 * @param host by which others connect, null when any will do
 */
public record NamedCertificate(String setting, Path file, @Nullable String host) {
  private static final String CLUSTER = "kvasir.cluster.tls";

  /** All of them. */
  public static List<NamedCertificate> of(KvasirConfig config) {
    List<NamedCertificate> certificates = betweenNodes(config);
    add(certificates, "kvasir.execution.tls", config.execution().tls(), null);
    return certificates;
  }

  /** Those that nodes show each other. */
  public static List<NamedCertificate> betweenNodes(KvasirConfig config) {
    List<NamedCertificate> certificates = new ArrayList<>();
    add(certificates, "kvasir.gateway.tls", config.gateway().tls(), config.gateway().http().host());
    add(
        certificates, "kvasir.management.tls", config.operations().management().tls(),
        config.operations().management().host());
    Config platform = config.source().platform();
    String file = platform.getString(CLUSTER + ".certificate");
    if (!file.isEmpty()) {
      certificates.add(new NamedCertificate(CLUSTER, Path.of(file), null));
    }
    return certificates;
  }

  private static void add(
      List<NamedCertificate> certificates, String setting, @Nullable TlsFiles files, @Nullable String host) {
    if (files != null && files.certificate() != null) {
      certificates.add(new NamedCertificate(setting, files.certificate(), isName(host) ? host : null));
    }
  }

  /** Whether a host that is listened on is one that clients connect to, and not an address for many. */
  private static boolean isName(@Nullable String host) {
    return host != null && !host.equals("localhost") && host.matches(".*[A-Za-z].*") && !host.contains(":");
  }
}
