package io.kvasir.app.config;

import io.kvasir.gateway.forwarding.ForwardingSettings;
import io.kvasir.gateway.forwarding.ReservedFields;
import io.kvasir.gateway.forwarding.ServedPaths;
import io.kvasir.gateway.forwarding.TrustedProxies;
import java.util.List;

/** Reads what of clients' requests reaches engines. */
final class ForwardingReader {
  private ForwardingReader() {}

  /** Whether clients' keys reach engines; {@code AUTO}: where the router has no keys, they may be the engines'. */
  private enum KeyForwarding { AUTO, ON, OFF }

  /**
   * The settings, from the section {@code gateway}.
   *
   * @param hasKeys whether the router itself checks the clients' keys
   */
  static ForwardingSettings read(ConfigSection gateway, boolean hasKeys) {
    ConfigSection reserved = gateway.section("reserved-fields");
    ForwardingSettings read =
        new ForwardingSettings(
            paths(gateway),
            new ReservedFields(
                reserved.choice("action", ReservedFields.Action.class),
                reserved.texts("body"),
                reserved.texts("headers")),
            proxies(gateway),
            forwardsKeys(gateway.choice("forward-client-keys", KeyForwarding.class), hasKeys));
    reserved.rejectUnread();
    return read;
  }

  private static boolean forwardsKeys(KeyForwarding forwarding, boolean hasKeys) {
    return switch (forwarding) {
      case AUTO -> !hasKeys;
      case ON -> true;
      case OFF -> false;
    };
  }

  private static ServedPaths paths(ConfigSection gateway) {
    List<String> paths = gateway.texts("paths");
    for (String path : paths) {
      if (!path.startsWith("/") || path.contains("//") || path.contains("?") || path.contains("..")
          || (path.length() > 1 && path.endsWith("/")) || (path.indexOf('*') >= 0 && !path.endsWith("/*"))) {
        gateway.fault("paths", "has '" + path + "', which is no path such as \"/v1/files\" or \"/v1/files/*\"");
      }
    }
    return new ServedPaths(paths);
  }

  private static TrustedProxies proxies(ConfigSection gateway) {
    try {
      return new TrustedProxies(gateway.texts("trusted-proxies"));
    } catch (IllegalArgumentException unreadable) {
      gateway.fault("trusted-proxies", "has " + unreadable.getMessage());
      return TrustedProxies.NONE;
    }
  }
}
