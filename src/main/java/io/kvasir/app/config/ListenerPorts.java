package io.kvasir.app.config;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** The ports that one node listens on: two listeners that want the same one of one address are a fault. */
final class ListenerPorts {
  private static final Set<String> EVERY_ADDRESS = Set.of("0.0.0.0", "::", "[::]");

  private final List<Listener> listeners = new ArrayList<>();

  private record Listener(String setting, String host, int port) {
    boolean excludes(Listener other) {
      return port == other.port
          && (host.equals(other.host) || EVERY_ADDRESS.contains(host) || EVERY_ADDRESS.contains(other.host));
    }
  }

  /**
   * Adds a listener.
   *
   * @param section where its port is written
   * @param setting the port's name there
   * @param port 0 for any that is free
   */
  void add(ConfigSection section, String setting, String host, int port) {
    if (port == 0) {
      return;
    }
    Listener added = new Listener(section.full(setting), host.equals("localhost") ? "127.0.0.1" : host, port);
    listeners.stream()
        .filter(added::excludes)
        .findFirst()
        .ifPresent(first ->
            section.fault(setting, "is " + port + ", which is also " + first.setting + "; choose another"));
    listeners.add(added);
  }
}
