package io.kvasir.app.admin;

import io.kvasir.app.terminal.Table;
import io.kvasir.doctor.exam.RouterExam.NodeLink;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedSet;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Which node reaches which, as a table: the ports of a column's node that a row's node does not reach. */
final class PortMatrix {
  private PortMatrix() {}

  /** The table, and an empty line after it; where a node did not say what it reaches, its row has question marks. */
  static String of(List<NodeLink> links) {
    SequencedSet<String> nodes = new TreeSet<>();
    Map<String, List<String>> closed = new HashMap<>();
    for (NodeLink link : links) {
      nodes.add(link.from());
      nodes.add(link.to());
      List<String> ports = closed.computeIfAbsent(link.from() + " " + link.to(), _ -> new ArrayList<>());
      if (!link.open()) {
        ports.add(link.port());
      }
    }
    Table table = new Table(Stream.concat(Stream.of("not reached:"), nodes.stream()).toArray(String[]::new));
    for (String from : nodes) {
      table.row(
          Stream.concat(Stream.of(from), nodes.stream().map(to -> cell(from, to, closed.get(from + " " + to))))
              .toArray(String[]::new));
    }
    return table + "\n";
  }

  private static String cell(String from, String to, @Nullable List<String> closed) {
    return from.equals(to) ? "-" : closed == null ? "?" : closed.isEmpty() ? "none" : String.join(",", closed);
  }
}
