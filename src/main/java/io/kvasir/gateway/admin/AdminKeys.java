package io.kvasir.gateway.admin;

import io.kvasir.http.Headers;
import io.kvasir.telemetry.LineRate;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who may administer: a client with one of the keys, and where there are none, any client on this machine. A file of
 * keys is read at every request, so that keys are changed while the router runs. Thread-safe.
 */
public final class AdminKeys {
  /** Lines of the log about requests with a wrong key, which anybody can send. */
  static final int REFUSALS_PER_SECOND = 10;

  /** Those about a file that cannot be read. */
  static final int UNREADABLE_PER_SECOND = 1;

  private static final Logger LOG = LoggerFactory.getLogger(AdminKeys.class);

  /** A host that no name server resolves: an address, or this machine's own name for itself. */
  private static final Pattern ADDRESS =
      Pattern.compile("(?i)(localhost|\\d{1,3}(\\.\\d{1,3}){3}|\\[[0-9a-f:.]+])(:\\d{1,5})?");
  private static final String SCHEME = "Bearer ";

  private final List<AdminKey> keys;
  private final @Nullable Path file;
  private final LineRate refusals;
  private final LineRate unreadables;

  /**
   * Keys of administrators.
   *
   * @param keys those that never change
   * @param file one with a {@linkplain AdminKey key} a line, null for none; empty lines, and those that begin with #,
   *     are passed over
   */
  public AdminKeys(List<AdminKey> keys, @Nullable Path file) {
    this(keys, file, NanoClock.SYSTEM);
  }

  /** The same, by a clock that its lines in the log are limited by. */
  AdminKeys(List<AdminKey> keys, @Nullable Path file, NanoClock clock) {
    this.keys = List.copyOf(keys);
    this.file = file;
    this.refusals = new LineRate(REFUSALS_PER_SECOND, clock);
    this.unreadables = new LineRate(UNREADABLE_PER_SECOND, clock);
  }

  /**
   * The lines of a file that are to be keys.
   *
   * @throws IOException when it cannot be read
   */
  public static List<String> readFile(Path file) throws IOException {
    return Files.readAllLines(file).stream()
        .map(String::strip)
        .filter(line -> !line.isEmpty() && !line.startsWith("#"))
        .toList();
  }

  /** Whether a key has to be shown. */
  public boolean isRequired() {
    return file != null || !keys.isEmpty();
  }

  /**
   * Who administers.
   *
   * @param id of its key; {@code local} without one
   */
  record Administrator(String id, AdminRole role) {
    /** Whoever is on the router's own machine, where there are no keys. */
    static final Administrator LOCAL = new Administrator("local", AdminRole.ADMIN);
  }

  /**
   * Lets a request pass or not.
   *
   * @param client where it comes from
   * @throws AdminException when it may not pass
   */
  Administrator check(Headers headers, InetAddress client) throws AdminException {
    if (!isRequired()) {
      if (!isLoopback(client)) {
        throw AdminException.of(
            403,
            "this router has no admin key, so it is administered from its own machine only;"
                + " set kvasir.management.admin-keys to do it from " + client.getHostAddress());
      }
      String host = headers.first("Host");
      if (host != null && !ADDRESS.matcher(host).matches()) {
        // A page whose name leads to this machine reads what the browser takes for its own server.
        throw AdminException.of(
            403,
            "this router has no admin key, so it is administered by its address or as localhost, not as " + host
                + "; set kvasir.management.admin-keys to use a name");
      }
      if (!isOwnOrigin(headers.first("Origin"), host)) {
        // Any page in a browser on this machine could send such a request, but for the router's own.
        throw AdminException.of(
            403,
            "this router has no admin key, so no page in a browser administers it but its own console;"
                + " set kvasir.management.admin-keys");
      }
      return Administrator.LOCAL;
    }
    String authorization = headers.first("Authorization");
    if (authorization == null) {
      throw AdminException.of(401, "the admin API wants one of its keys, as \"Authorization: Bearer KEY\"");
    }
    boolean bearer = authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length());
    AdminKey shown = bearer ? find(authorization.substring(SCHEME.length()).strip(), valid()) : null;
    if (shown != null) {
      return new Administrator(shown.id(), shown.role());
    }
    long leftOut = refusals.take();
    if (leftOut >= 0) {
      LOG.warn("a request to the admin API from {} was refused: its key is wrong{}",
          client.getHostAddress(), LineRate.note(leftOut));
    }
    throw AdminException.of(
        401,
        bearer
            ? "the key is none of this router's kvasir.management.admin-keys"
            : "the admin API wants one of its keys as \"Authorization: Bearer KEY\", not by another scheme");
  }

  private List<AdminKey> valid() throws AdminException {
    if (file == null) {
      return keys;
    }
    List<AdminKey> valid = new ArrayList<>(keys);
    try {
      for (String line : readFile(file)) {
        valid.add(AdminKey.parse(line));
      }
    } catch (IOException | IllegalArgumentException unreadable) {
      long leftOut = unreadables.take();
      if (leftOut >= 0) {
        LOG.error("the file of admin keys {} cannot be read: {}{}",
            file, unreadable.toString(), LineRate.note(leftOut));
      }
      if (keys.isEmpty()) {
        throw AdminException.of(
            503, "this router cannot read its file of admin keys, kvasir.management.admin-key-file");
      }
    }
    return valid;
  }

  /** Takes the same time whichever key it is, and wherever a wrong one differs. */
  private static @Nullable AdminKey find(String shown, List<AdminKey> valid) {
    byte[] digest = AdminKey.sha256(shown);
    AdminKey found = null;
    for (AdminKey key : valid) {
      found = key.matches(digest) ? key : found;
    }
    return found;
  }

  /** Whether a request is no page's of another origin; a browser tells the origin of all that change something. */
  private static boolean isOwnOrigin(@Nullable String origin, @Nullable String host) {
    return origin == null
        || (host != null && (origin.equalsIgnoreCase("http://" + host) || origin.equalsIgnoreCase("https://" + host)));
  }

  private static boolean isLoopback(InetAddress client) {
    try {
      return client.isLoopbackAddress() || NetworkInterface.getByInetAddress(client) != null;
    } catch (SocketException e) {
      return false;
    }
  }
}
