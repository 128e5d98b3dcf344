// SPDX-License-Identifier: BSL-1.0

// A service of several replicas on Boost.Asio, in one thread: every replica answers, one leads, and SIGTERM loses no request.
//
//     LEASEHOLD_STORE='Driver=SQLite3;Database=service.db' asio_service 8080
//
// GET /healthz   200 as long as the process serves
// GET /readyz    200 while it leads, otherwise 503: for a load balancer, or a readiness probe of Kubernetes
// GET /work      200 and the fencing token, with which the work was done, or 503
//
// On SIGTERM it takes no more connections, lets the requests under way end (5 s at most), gives the leadership to another
// replica, and ends. Port 0 is any free port; the first line of the output says which. It listens on 127.0.0.1, or on the address that
// comes after the port. Beside this file are a Dockerfile, a compose.yml and a kubernetes.yml; docs/operations.md explains them.
//
// HTTP is cut down to what the example needs. Yours comes from Boost.Beast or another library.
#include <leasehold/asio.hpp>
#include <leasehold/leasehold.hpp>
#include <leasehold/odbc/odbc_store.hpp>

#include <boost/asio.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

namespace lh = leasehold;
namespace net = boost::asio;
using namespace std::chrono_literals;
using net::ip::tcp;

// Longer than a request takes, and shorter than what a container is given to end.
constexpr auto drain_limit = 5s;

using service_term = lh::leader_term<lh::basic_lease<lh::odbc_store>>;

class service {
public:
    service(net::io_context& io, const tcp::endpoint& at) : acceptor_{io, at}, all_answered_{io}
    {
        std::cout << "listens on port " << acceptor_.local_endpoint().port() << std::endl;
    }

    net::awaitable<void> accept()
    {
        while (acceptor_.is_open()) {
            boost::system::error_code ec;
            tcp::socket client = co_await acceptor_.async_accept(net::redirect_error(net::use_awaitable, ec));
            if (!ec) {
                net::co_spawn(acceptor_.get_executor(), answer(std::move(client)), net::detached);
            } else if (acceptor_.is_open()) {  // too many open files, for example: that passes
                net::steady_timer pause{acceptor_.get_executor(), 100ms};
                co_await pause.async_wait(net::use_awaitable);
            }
        }
    }

    /// What a leader does, until its term ends. Here requests do the work, so it only says that there is a term.
    net::awaitable<void> lead(service_term& term)
    {
        std::cout << "leads with token " << term.token().value() << std::endl;
        const leadership leads{leading_, term};
        net::steady_timer pause{acceptor_.get_executor()};
        while (!term.stop_token().stop_requested()) {
            pause.expires_after(50ms);
            co_await pause.async_wait(net::use_awaitable);  // the end of the term ends it
        }
    }

    /// Returns when the requests under way have ended, or after `at_most`.
    net::awaitable<void> drain(std::chrono::milliseconds at_most)
    {
        acceptor_.close();
        all_answered_.expires_after(at_most);
        boost::system::error_code ec;
        if (under_way_ > 0) co_await all_answered_.async_wait(net::redirect_error(net::use_awaitable, ec));
    }

private:
    struct leadership {
        leadership(service_term*& leading, service_term& term) : leading_{leading} { leading_ = &term; }
        ~leadership()
        {
            leading_ = nullptr;
            std::cout << "leads no more" << std::endl;
        }
        service_term*& leading_;
    };

    [[nodiscard]] bool leads() const noexcept { return leading_ && leading_->held(); }

    net::awaitable<void> answer(tcp::socket client)
    {
        ++under_way_;
        try {
            std::string request;
            co_await net::async_read_until(client, net::dynamic_buffer(request, 4096), "\r\n\r\n", net::use_awaitable);
            const std::string response = co_await respond_to(request.substr(0, request.find(" HTTP/")));
            co_await net::async_write(client, net::buffer(response), net::use_awaitable);
        } catch (const boost::system::system_error& e) {
            std::cerr << "a client went away: " << e.code().message() << std::endl;
        }
        if (--under_way_ == 0) all_answered_.cancel();
    }

    net::awaitable<std::string> respond_to(std::string request)
    {
        if (request == "GET /healthz") co_return response("200 OK", "serves");
        if (request == "GET /readyz")
            co_return leads() ? response("200 OK", "leads") : response("503 Service Unavailable", "does not lead");
        if (request == "GET /work") co_return co_await work();
        co_return response("404 Not Found", "no such page");
    }

    // Whatever the work writes, it writes with the token: what a former leader writes late is then refused. See docs/fencing.md.
    net::awaitable<std::string> work()
    {
        if (!leads()) co_return response("503 Service Unavailable", "does not lead");
        const lh::fencing_token token = leading_->token();
        net::steady_timer takes_its_time{acceptor_.get_executor(), 300ms};
        co_await takes_its_time.async_wait(net::use_awaitable);
        co_return response("200 OK", "done with token " + std::to_string(token.value()));
    }

    static std::string response(const std::string& status, const std::string& text)
    {
        return "HTTP/1.1 " + status + "\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: " +
               std::to_string(text.size() + 1) + "\r\n\r\n" + text + "\n";
    }

    tcp::acceptor acceptor_;
    net::steady_timer all_answered_;
    service_term* leading_ = nullptr;
    int under_way_ = 0;
};

int main(int argc, char** argv)
{
    const char* const connection_string = std::getenv("LEASEHOLD_STORE");
    if (argc < 2 || argc > 3 || !connection_string) {
        std::cerr << "usage: LEASEHOLD_STORE=CONNECTION-STRING asio_service PORT [ADDRESS]\n";
        return 2;
    }
    const auto address = net::ip::make_address(argc > 2 ? argv[2] : "127.0.0.1");
    lh::odbc_store store{connection_string};
    store.create_schema();
    lh::basic_lease lease{store, "asio-service", lh::lease_terms{.ttl = 3s}};
    lh::leader_election election{lease};
    net::cancellation_signal stop;

    net::io_context io{1};
    service serves{io, {address, static_cast<unsigned short>(std::stoi(argv[1]))}};
    const auto ended = [](const std::exception_ptr& e) {
        if (e) std::rethrow_exception(e);
    };
    const auto leads = [&serves](service_term& term) { return serves.lead(term); };
    const auto ends = [&]() -> net::awaitable<void> {
        net::signal_set signals{io, SIGTERM, SIGINT};
        co_await signals.async_wait(net::use_awaitable);
        co_await serves.drain(drain_limit);
        stop.emit(net::cancellation_type::terminal);  // released when lead() has ended, so that another replica leads at once
    };
    net::co_spawn(io, serves.accept(), ended);
    const auto leads_until_told = [&]() -> net::awaitable<void> {
        co_await lh::async_lead(election, leads, net::bind_cancellation_slot(stop.slot(), net::use_awaitable));
        io.stop();  // a client that never sends its request keeps nobody
    };
    net::co_spawn(io, leads_until_told(), ended);
    net::co_spawn(io, ends(), ended);
    io.run();
    std::cout << "has ended" << std::endl;
}
