package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.Examination;
import io.kvasir.doctor.exam.RouterExam;
import io.kvasir.doctor.exam.RouterExam.WorkerSource;

/** Whether a running router gets the events of all workers, by its own account. */
final class RouterSourcesCheck extends Check {
  RouterSourcesCheck() {
    super("router-sources", "Does the router get the events of every worker that has any, without gaps?");
  }

  @Override
  void examine(Examination examination, FindingCollector found) {
    RouterExam router = examination.router();
    if (router == null) {
      return;
    }
    for (WorkerSource source : router.sources()) {
      String subject = "worker " + source.worker();
      String fault = source.lastFault() == null ? "" : "; last fault: " + source.lastFault();
      switch (source.state()) {
        case DISCONNECTED ->
            found.error(subject, "the router is not connected to its events by " + source.kind() + fault,
                "The router does not know what its cache holds.", remedy(source.kind()));
        case SUSPECT ->
            found.warning(subject, "some of its events by " + source.kind() + " were lost (" + source.gaps()
                    + " gaps)" + fault,
                "The router may send it requests for blocks that are not there.",
                "Give the engine a replay_endpoint and a larger buffer_steps in --kv-events-config, and the pod"
                    + " events.replay; by NATS or Redis let the stream keep more.");
        case CONNECTED -> { }
      }
    }
  }

  private static String remedy(String kind) {
    String first = kind.replaceAll("\\+.*", "");
    return switch (first) {
      case "zmq" -> "Is the engine started with --kv-events-config, and events.endpoint of the pod its endpoint? With"
          + " events.bind = true the engine's endpoint has to be this router's address.";
      case "push" -> "Is the sidecar running, and does it post to /v1/events/WORKER of a router with the events.key of"
          + " the pod?";
      case "nats" -> "Is nats-server reached at events.servers of the pod, and does a stream keep events.subject?";
      case "redis" -> "Is Redis reached at events.url of the pod?";
      case "grpc" -> "Is the service of cache events reached at events.address of the pod, with events.tls as it has"
          + " it?";
      default -> "Is the engine reached, and has it no other reader of its events?";
    };
  }
}
