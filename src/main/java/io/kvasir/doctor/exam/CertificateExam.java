package io.kvasir.doctor.exam;

import io.kvasir.http.PemFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A certificate that the configuration names.
 *
 * @param setting that names it, such as {@code kvasir.gateway.tls}
 * @param file where it is
 * @param host by which others connect, null when any will do
 * @param failure why it cannot be read, null when it can
 * @param from when it begins to be valid
 * @param until when it ends to be valid
 * @param names the hosts and addresses that it is for
 * @param authority who issued it: its name, and a digest of its key where the certificate tells one
 */
public record CertificateExam(
    String setting,
    Path file,
    @Nullable String host,
    @Nullable String failure,
    Instant from,
    Instant until,
    List<String> names,
    String authority) {
  /** The extension with the identifier of the authority's key, which it ends with as a rule. */
  private static final String AUTHORITY_KEY = "2.5.29.35";

  /** Copies the list. */
  public CertificateExam {
    names = List.copyOf(names);
  }

  /** Reads a certificate; that it cannot be read is told by {@code failure}. */
  public static CertificateExam of(String setting, Path file, @Nullable String host) {
    try {
      X509Certificate own = PemFiles.certificates(file).getFirst();
      return new CertificateExam(
          setting, file, host, null, own.getNotBefore().toInstant(), own.getNotAfter().toInstant(), names(own),
          authority(own));
    } catch (IOException | CertificateParsingException unreadable) {
      return new CertificateExam(
          setting, file, host, String.valueOf(unreadable.getMessage()), Instant.EPOCH, Instant.EPOCH, List.of(), "");
    }
  }

  private static String authority(X509Certificate certificate) {
    String name = certificate.getIssuerX500Principal().getName();
    byte[] key = certificate.getExtensionValue(AUTHORITY_KEY);
    return key == null
        ? name
        : name + ", key " + HexFormat.of().formatHex(key, Math.max(0, key.length - 4), key.length);
  }

  private static List<String> names(X509Certificate certificate) throws CertificateParsingException {
    Collection<List<?>> alternatives = certificate.getSubjectAlternativeNames();
    List<String> names = new ArrayList<>();
    if (alternatives != null) {
      // Of each pair the second is the name: a text for hosts and addresses.
      alternatives.forEach(pair -> names.add(String.valueOf(pair.get(1))));
    }
    return names;
  }

  /** Whether it is for a host, by its name or a wildcard one label above. */
  public boolean isFor(String name) {
    int dot = name.indexOf('.');
    return names.stream()
        .anyMatch(each -> each.equalsIgnoreCase(name)
            || (dot > 0 && each.startsWith("*.") && each.regionMatches(true, 1, name, dot, name.length() - dot)
                && each.length() == 1 + name.length() - dot));
  }
}
