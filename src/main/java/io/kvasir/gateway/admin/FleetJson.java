package io.kvasir.gateway.admin;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.routing.Worker;
import java.util.List;
import java.util.Locale;

/** The fleet as the admin API shows it. */
final class FleetJson {
  private FleetJson() {}

  /** {@code {"workers": [...]}}. */
  static ObjectNode workers(List<WorkerStatus> workers) {
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    put(body, workers);
    return body;
  }

  /** {@code {"nodes": [...], "cells": [...], "workers": [...]}}; a cell between homes has null for its home. */
  static ObjectNode cluster(ClusterStatus status) {
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    ArrayNode nodes = body.putArray("nodes");
    for (ClusterStatus.NodeStatus node : status.nodes()) {
      nodes.addObject()
          .put("address", node.address())
          .put("state", node.state())
          .put("reachable", node.reachable())
          .put("version", node.version())
          .put("self", node.self());
    }
    ArrayNode cells = body.putArray("cells");
    for (ClusterStatus.CellStatus cell : status.cells()) {
      cells.addObject()
          .put("name", cell.name())
          .put("home", cell.home())
          .put(
              "workers",
              status.workers().stream().filter(worker -> worker.cell().equals(cell.name())).count());
    }
    put(body, status.workers());
    return body;
  }

  private static void put(ObjectNode body, List<WorkerStatus> workers) {
    ArrayNode list = body.putArray("workers");
    workers.forEach(status -> put(list.addObject(), status));
  }

  private static void put(ObjectNode entry, WorkerStatus status) {
    Worker worker = status.worker();
    entry
        .put("id", worker.id())
        .put("pod", worker.pod())
        .put("url", worker.url().toString())
        .put("rank", worker.rank())
        .put("ranks", worker.ranks())
        .put("role", lower(worker.role()));
    ArrayNode models = entry.putArray("models");
    worker.models().forEach(models::add);
    if (!status.report().equals(EngineReport.NONE)) {
      entry.putObject("engine_reports")
          .put("running", status.report().running())
          .put("waiting", status.report().waiting())
          .put("kv_use", status.report().kvUse());
    }
    ObjectNode labels = entry.putObject("labels");
    worker.labels().forEach(labels::put);
    entry
        .put("max_in_flight", worker.maxInFlight())
        .put("engine", worker.engine())
        .put("cell", status.cell())
        .put("slot", worker.slot())
        .put("health", lower(status.health()))
        .put("why", status.why())
        .put("draining", status.draining())
        .put("drained", status.draining() && status.inFlight() == 0)
        .put("suspect", status.suspect())
        .put("in_flight", status.inFlight())
        .put("pending_tokens", status.pendingTokens())
        .put("blocks", status.blocks())
        .put("predicted_blocks", status.predictedBlocks())
        .put("trust", status.trust())
        .put("resyncs", status.resyncs())
        .put("last_sequence", status.lastSequence());
  }

  private static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
