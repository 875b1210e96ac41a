package io.kvasir.app.neighbours;

import java.util.Locale;

/** What a port of a node is for, of those that other nodes need. */
enum NodePort {
  /** Membership and messages. */
  CLUSTER,
  /** Decisions by the homes of cells. */
  LINE,
  /** Where nodes that find each other by DNS or Kubernetes contact each other. */
  MANAGEMENT,
  /** Where pushed events are forwarded to. */
  GATEWAY;

  /** Its name in JSON. */
  String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
