package io.kvasir.app.neighbours;

import io.kvasir.app.neighbours.NodeMessage.Describe;
import io.kvasir.app.neighbours.NodeMessage.Description;
import io.kvasir.app.neighbours.NodeMessage.Endpoint;
import io.kvasir.app.neighbours.NodeMessage.PortProbe;
import io.kvasir.app.neighbours.NodeMessage.Probe;
import io.kvasir.app.neighbours.NodeMessage.Probed;
import io.kvasir.app.neighbours.NodeMessage.Question;
import io.kvasir.app.neighbours.NodeSurvey.Link;
import io.kvasir.app.neighbours.NodeSurvey.SurveyedNode;
import java.io.IOException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.actor.Address;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.receptionist.Receptionist;
import org.apache.pekko.actor.typed.receptionist.ServiceKey;
import org.apache.pekko.cluster.Member;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.japi.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A node among the others: answers what it is and which of their ports it reaches, and asks them all the same.
 * Thread-safe; its actor ends with the system.
 */
public final class Neighbours {
  private static final Logger LOG = LoggerFactory.getLogger(Neighbours.class);
  private static final ServiceKey<Question> KEY = ServiceKey.create(Question.class, "kvasir-neighbours");
  private static final Duration ANSWERING = Duration.ofSeconds(2);

  /** All ports of so many nodes, 32 at a time, each silent. */
  private static final Duration PROBING = Duration.ofSeconds(25);

  /** Further nodes are not asked, nor tried: what nodes say of each other grows with the square of their number. */
  private static final int MAX_NODES = 100;

  /** A survey is for all who ask for it at the same time. */
  private static final long FRESH_NANOS = Duration.ofSeconds(1).toNanos();

  private static final int PEPPER_BYTES = 32;

  private final ActorSystem<?> system;
  private final NodeDescriber self;
  private final PortProber prober;
  private final SecureRandom random = new SecureRandom();
  private @Nullable NodeSurvey last;
  private long surveyedNanos;

  /** Registers this node with the others. */
  public Neighbours(ActorSystem<?> system, NodeTrust trust, NodeDescriber self) {
    this.system = system;
    this.self = self;
    this.prober =
        new PortProber(
            system.settings().config().getString("pekko.remote.artery.advanced.tcp.outbound-client-hostname"), trust);
    ActorRef<Question> actor = system.systemActorOf(answering(), "kvasir-neighbours", Props.empty());
    system.receptionist().tell(Receptionist.register(KEY, actor));
  }

  private Behavior<Question> answering() {
    return Behaviors.receiveMessage(
        question -> {
          // Files and sockets take their time.
          Thread.ofVirtual().name("kvasir-neighbours").start(() -> answer(question));
          return Behaviors.same();
        });
  }

  private void answer(Question question) {
    switch (question) {
      case Describe describe -> describe.replyTo().tell(self.describe(describe.pepper()));
      case Probe probe -> {
        try {
          probe.replyTo().tell(new Probed(prober.probe(probe.endpoints())));
        } catch (InterruptedException stopped) {
          Thread.currentThread().interrupt();
        }
      }
    }
  }

  /** Asks every node what it is, and then which ports of the others it reaches. Waits for them, a minute at most. */
  synchronized NodeSurvey survey() {
    NodeSurvey known = last;
    if (known == null || System.nanoTime() - surveyedNanos > FRESH_NANOS) {
      known = surveyNow();
      last = known;
      surveyedNanos = System.nanoTime();
    }
    return known;
  }

  private NodeSurvey surveyNow() {
    byte[] pepper = new byte[PEPPER_BYTES];
    random.nextBytes(pepper);
    Description own = self.describe(pepper);
    SequencedMap<String, Description> described = new LinkedHashMap<>();
    described.put(own.node(), own);
    SequencedMap<String, ActorRef<Question>> actors = actors();
    actors.remove(own.node());
    described.putAll(this.<Description>query(actors, replyTo -> new Describe(pepper, replyTo), ANSWERING));
    List<Endpoint> endpoints = endpoints(described);
    List<Link> links = new ArrayList<>();
    SequencedMap<String, CompletionStage<Probed>> probing = new LinkedHashMap<>();
    actors.keySet().retainAll(described.keySet());
    actors.forEach((node, actor) ->
        probing.put(node, query(actor, replyTo -> new Probe(others(endpoints, node), replyTo), PROBING)));
    links.addAll(linksOfSelf(others(endpoints, own.node())));
    answers(probing).forEach((node, probed) -> links.addAll(links(node, probed.probes())));
    List<SurveyedNode> nodes = new ArrayList<>();
    endpoints.stream().map(Endpoint::node).distinct().forEach(
        node -> nodes.add(new SurveyedNode(node, described.get(node), comparison(own, described.get(node)))));
    return new NodeSurvey(nodes, links);
  }

  private List<Link> linksOfSelf(List<Endpoint> others) {
    try {
      return links(self.node(), prober.probe(others));
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      return List.of();
    }
  }

  private static List<Link> links(String from, List<PortProbe> probes) {
    return probes.stream().map(probe -> new Link(from, probe)).toList();
  }

  private static List<Endpoint> others(List<Endpoint> endpoints, String node) {
    return endpoints.stream().filter(endpoint -> !endpoint.node().equals(node)).toList();
  }

  private static @Nullable SettingsComparison comparison(Description own, @Nullable Description other) {
    try {
      return other == null ? null : SettingsComparison.of(own.settings(), other.settings());
    } catch (IOException unreadable) {
      LOG.warn("the settings of {} cannot be read: {}", other.node(), unreadable.getMessage());
      return null;
    }
  }

  /** The ports of all members; of one that did not answer its remoting alone is known. */
  private List<Endpoint> endpoints(Map<String, Description> described) {
    List<Endpoint> endpoints = new ArrayList<>();
    described.values().forEach(node -> endpoints.addAll(node.endpoints()));
    for (Member member : Cluster.get(system).state().getMembers()) {
      String node = name(member.address());
      if (!described.containsKey(node) && described.size() < MAX_NODES) {
        endpoints.add(
            new Endpoint(
                node, NodePort.CLUSTER, member.address().getHost().orElse(""), member.address().getPort().orElse(0),
                self.isSecured()));
      }
    }
    return endpoints;
  }

  /** The actors of the nodes that the receptionist knows, by their addresses. */
  private SequencedMap<String, ActorRef<Question>> actors() {
    SequencedMap<String, ActorRef<Question>> actors = new LinkedHashMap<>();
    try {
      Collection<ActorRef<Question>> found =
          AskPattern.<Receptionist.Command, Receptionist.Listing>ask(
                  system.receptionist(), replyTo -> Receptionist.find(KEY, replyTo), ANSWERING, system.scheduler())
              .toCompletableFuture().join().getServiceInstances(KEY);
      Address own = Cluster.get(system).selfMember().address();
      found.stream().limit(MAX_NODES).forEach(
          actor -> actors.put(name(actor.path().address().hasGlobalScope() ? actor.path().address() : own), actor));
    } catch (CompletionException late) {
      LOG.warn("the other nodes were not found in time: {}", late.getMessage());
    }
    return actors;
  }

  private <T> SequencedMap<String, T> query(
      Map<String, ActorRef<Question>> actors, Function<ActorRef<T>, Question> question, Duration timeout) {
    SequencedMap<String, CompletionStage<T>> asked = new LinkedHashMap<>();
    actors.forEach((node, actor) -> asked.put(node, query(actor, question, timeout)));
    return answers(asked);
  }

  private <T> CompletionStage<T> query(
      ActorRef<Question> actor, Function<ActorRef<T>, Question> question, Duration timeout) {
    return AskPattern.ask(actor, question, timeout, system.scheduler());
  }

  /** The answers that come; nodes that give none in time are left out. */
  private static <T> SequencedMap<String, T> answers(SequencedMap<String, CompletionStage<T>> asked) {
    SequencedMap<String, T> answers = new LinkedHashMap<>();
    asked.forEach((node, answer) -> {
      try {
        answers.put(node, answer.toCompletableFuture().join());
      } catch (CompletionException late) {
        LOG.info("node {} did not answer in time: {}", node, late.getMessage());
      }
    });
    return answers;
  }

  private static String name(Address address) {
    return address.getHost().orElse("") + ":" + address.getPort().orElse(0);
  }
}
