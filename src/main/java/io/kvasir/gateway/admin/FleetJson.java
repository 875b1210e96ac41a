package io.kvasir.gateway.admin;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.admission.ClassStatus;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.EventMode;
import io.kvasir.cell.HealthChange;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.events.EventFeed;
import io.kvasir.programs.GuardStatus;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Worker;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The fleet as the admin API shows it. */
final class FleetJson {
  private FleetJson() {}

  /** {@code {"workers": [...]}}. */
  static ObjectNode workers(List<WorkerStatus> workers) {
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    put(body, workers);
    return body;
  }

  /** One pod: {@code {"pod", "state", "in_flight", "workers": [...], "history": [...]}}. */
  static ObjectNode pod(String pod, List<WorkerStatus> workers, List<HealthChange> history) {
    int inFlight = workers.stream().mapToInt(worker -> worker.load().inFlight()).sum();
    boolean draining = workers.stream().allMatch(WorkerStatus::draining);
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    body.put("pod", pod)
        .put("state", !draining ? "serving" : inFlight > 0 ? "draining" : "drained")
        .put("in_flight", inFlight);
    put(body, workers);
    ArrayNode changes = body.putArray("history");
    for (HealthChange change : history) {
      changes.addObject()
          .put("time", Instant.ofEpochMilli(change.timeMillis()).toString())
          .put("worker", change.worker())
          .put("health", lower(change.health()))
          .put("why", change.reason());
    }
    return body;
  }

  /**
   * Puts in what a pod's engine told and did not: {@code "learnt": {...}}; nothing of a pod described whole.
   *
   * @param load where its load is read from, null where that is not known here
   */
  static void putLearnt(ObjectNode body, PodSpec pod, @Nullable String load) {
    PodSpec.Learnt learnt = pod.learnt();
    if (learnt == null) {
      return;
    }
    ObjectNode entry = body.putObject("learnt").put("engine", learnt.engine());
    pod.models().forEach(entry.putArray("models")::add);
    entry
        .put("block_size", pod.engine().blockSize())
        .put("events", pod.events().stream().map(EventFeed::kind).collect(Collectors.joining("+")));
    ArrayNode endpoints = entry.putArray("event_endpoints");
    for (EventFeed feed : pod.events()) {
      if (feed instanceof EventFeed.Zmq zmq) {
        endpoints.add(zmq.endpoint());
        zmq.otherRanks().forEach(rank -> endpoints.add(rank.endpoint()));
      }
    }
    if (load != null) {
      entry.put("load", load);
    }
    learnt.remarks().forEach(entry.putArray("remarks")::add);
  }

  /** {@code {"cells": [...]}}; a cell between homes has null for its home. */
  static ObjectNode cells(ClusterStatus status) {
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    put(body, status);
    return body;
  }

  /** {@code {"nodes": [...], "cells": [...], "workers": [...]}}. */
  static ObjectNode cluster(ClusterStatus status) {
    ObjectNode body = nodesAndCells(status);
    put(body, status.workers());
    return body;
  }

  /** The same without the workers. */
  static ObjectNode nodesAndCells(ClusterStatus status) {
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    ArrayNode nodes = body.putArray("nodes");
    for (ClusterStatus.NodeStatus node : status.nodes()) {
      ObjectNode entry =
          nodes.addObject()
              .put("address", node.address())
              .put("state", node.state())
              .put("reachable", node.reachable())
              .put("version", node.version())
              .put("self", node.self())
              .put("cut_off", node.cutOff());
      if (node.uptime() != null) {
        entry.put("uptime_s", coarse(node.uptime()));
      }
    }
    put(body, status);
    return body;
  }

  /** Seconds, those of whole minutes beyond the first: whoever watches is not told of every second that passes. */
  private static long coarse(Duration time) {
    return time.toSeconds() < 60 ? time.toSeconds() : time.toMinutes() * 60;
  }

  private static void put(ObjectNode cell, ClusterStatus.WaitingStatus waiting) {
    ArrayNode classes = cell.putArray("waiting");
    for (ClassStatus each : waiting.classes()) {
      ObjectNode entry =
          classes.addObject()
              .put("class", each.serviceClass().label())
              .put("requests", each.length())
              .put("tokens", each.tokens())
              .put("oldest_ms", each.oldestMillis());
      each.reasons().forEach(entry.putObject("held")::put);
    }
    GuardStatus programs = waiting.programs();
    if (programs == null) {
      cell.putNull("programs");
    } else {
      cell.putObject("programs")
          .put("known", programs.programs())
          .put("live", programs.live())
          .put("live_tokens", programs.liveTokens())
          .put("waiting", programs.waiting());
    }
  }

  private static void put(ObjectNode body, ClusterStatus status) {
    ArrayNode cells = body.putArray("cells");
    for (ClusterStatus.CellStatus cell : status.cells()) {
      List<WorkerStatus> workers =
          status.workers().stream().filter(worker -> worker.cell().equals(cell.name())).toList();
      ObjectNode entry =
          cells.addObject().put("name", cell.name()).put("home", cell.home()).put("pressure", cell.pressure());
      Set<String> models = new TreeSet<>();
      workers.forEach(worker -> models.addAll(worker.worker().models()));
      models.forEach(entry.putArray("models")::add);
      entry
          .put("workers", workers.size())
          .put("healthy", workers.stream().filter(worker -> worker.health() == WorkerStatus.Health.HEALTHY).count())
          .put("draining", workers.stream().filter(WorkerStatus::draining).count())
          .put("in_flight", workers.stream().mapToInt(worker -> worker.load().inFlight()).sum())
          .put("pending_tokens", workers.stream().mapToLong(worker -> worker.load().pendingTokens()).sum())
          .put("blocks", workers.stream().mapToLong(worker -> worker.index().blocks()).sum());
      ArrayNode standbys = entry.putArray("standbys");
      for (ClusterStatus.StandbyStatus standby : cell.standbys()) {
        standbys.addObject()
            .put("node", standby.node())
            .put("warm", standby.warm())
            .put("behind", standby.behind())
            .put("lag_ms", standby.lagMillis());
      }
      put(entry, cell.waiting());
    }
  }

  private static void put(ObjectNode body, List<WorkerStatus> workers) {
    ArrayNode list = body.putArray("workers");
    workers.forEach(status -> put(list.addObject(), status));
  }

  /** One worker. */
  static ObjectNode worker(WorkerStatus status) {
    ObjectNode entry = JsonNodeFactory.instance.objectNode();
    put(entry, status);
    return entry;
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
    if (!status.load().report().equals(EngineReport.NONE)) {
      entry.putObject("engine_reports")
          .put("running", status.load().report().running())
          .put("waiting", status.load().report().waiting())
          .put("kv_use", status.load().report().kvUse());
    }
    ObjectNode labels = entry.putObject("labels");
    worker.labels().forEach(labels::put);
    if (worker.kvTransfer() != null) {
      put(entry.putObject("kv_transfer"), worker.kvTransfer());
    }
    entry
        .put("max_in_flight", worker.maxInFlight())
        .put("engine", worker.engine())
        .put("retention", lower(worker.retention()))
        .put("cell", status.cell())
        .put("slot", worker.slot())
        .put("health", lower(status.health()))
        .put("why", status.reason())
        .put("draining", status.draining())
        .put("drained", status.draining() && status.load().inFlight() == 0)
        .put("suspect", status.index().suspect())
        .put("in_flight", status.load().inFlight())
        .put("pending_tokens", status.load().pendingTokens())
        .put("blocks", status.index().blocks())
        .put("predicted_blocks", status.index().predictedBlocks())
        .put("trust", status.index().trust())
        .put("block_size", status.index().blockSize())
        .put("block_parts", status.index().parts())
        .put("speculation", lower(status.index().speculation()).replace('_', '-'))
        .put("resyncs", status.index().resyncs())
        .put("last_sequence", status.index().lastSequence())
        .put("capacity_blocks", status.index().capacityBlocks());
    double fill = fill(status);
    if (fill < 0) {
      entry.putNull("cache_fill");
    } else {
      entry.put("cache_fill", fill);
    }
    putKnown(entry, "event_lag_ms", EventMode.lagMillis(status.events()));
    WorkerStatus.PrefillCost cost = status.load().cost();
    if (cost == null) {
      entry.putNull("cost");
    } else {
      entry.putObject("cost")
          .put("ms_per_token", cost.msPerToken())
          .put("ms_per_pair", cost.msPerPair())
          .put("samples", cost.samples());
    }
    entry.put("mode", EventMode.of(status).label());
    entry.putObject("promises")
        .put("kept", status.index().promises().kept())
        .put("broken", status.index().promises().broken());
  }

  private static void put(ObjectNode entry, KvTransfer transfer) {
    entry
        .put("dialect", lower(transfer.dialect()).replace('_', '-'))
        .put("group", transfer.group())
        .put("host", transfer.host())
        .put("bootstrap_port", transfer.bootstrapPort())
        .put("engine_id", transfer.engineId())
        .put("tensor_parallel", transfer.tensorParallel())
        .put("pipeline_parallel", transfer.pipelineParallel());
    entry.putObject("link")
        .put("us_per_token", transfer.link().microsPerToken())
        .put("setup_ms", transfer.link().setupMs());
  }

  /** The share of a worker's KV cache in use: as its engine reports, else as the index knows; negative when unknown. */
  private static double fill(WorkerStatus status) {
    double reported = status.load().report().kvUse();
    int capacity = status.index().capacityBlocks();
    double share =
        reported >= 0 ? reported : capacity > 0 ? (double) status.index().blocks() / capacity : -1;
    return Math.round(Math.min(1, share) * 1e4) / 1e4;
  }

  /** Puts a figure, null for a negative one, which is not known. */
  static void putKnown(ObjectNode entry, String field, long figure) {
    if (figure < 0) {
      entry.putNull(field);
    } else {
      entry.put(field, figure);
    }
  }

  private static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
