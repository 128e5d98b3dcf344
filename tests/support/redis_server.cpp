// SPDX-License-Identifier: BSL-1.0
#include <support/redis_server.hpp>

#include <support/environment.hpp>

#include <csignal>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace leasehold_test {

redis_server::redis_server(std::vector<std::string> extra_arguments)
    : database_server{{}, std::move(extra_arguments), SIGTERM, SIGKILL, {}}
{
    start();
}

std::string redis_server::connection_string(const std::string& as, const std::string& with, const std::string& to) const
{
    const bool number = !to.empty() && to.find_first_not_of("0123456789") == std::string::npos;
    return "127.0.0.1 " + std::to_string(port()) + ' ' + as + ' ' + with + ' ' + (number ? to : "0");
}

std::vector<std::string> redis_server::command() const
{
    std::vector<std::string> arguments{find_program({"redis-server"}).string(),
                                       "--port",
                                       std::to_string(port()),
                                       "--bind",
                                       "127.0.0.1",
                                       "--unixsocket",
                                       unix_socket(),
                                       "--dir",
                                       folder().string(),
                                       "--save",
                                       "",
                                       "--daemonize",
                                       "no",
                                       "--user",
                                       user,
                                       "on",
                                       std::string{">"} + password};
    std::istringstream rights{"~leasehold:* &leasehold:* +eval +evalsha +script|load +get +set +del +exists +incr +pttl "
                              "+pexpire +time +publish +subscribe +unsubscribe +ping +select"};
    for (std::string right; rights >> right;) arguments.push_back(right);
    arguments.insert(arguments.end(), extra_arguments().begin(), extra_arguments().end());
    return arguments;
}

bool redis_server::ready() const { return log().find("Ready to accept connections") != std::string::npos; }

std::string redis_server::command(const std::vector<std::string>& words)
{
    std::vector<std::string> arguments{find_program({"redis-cli"}).string(), "-e", "-s", unix_socket()};
    arguments.insert(arguments.end(), words.begin(), words.end());
    std::string said = run(arguments, false);
    while (!said.empty() && said.back() == '\n') said.pop_back();
    return said;
}

std::string redis_server::run_client(const std::string&, const std::string& words)
{
    std::istringstream apart{words};
    std::vector<std::string> arguments;
    for (std::string word; apart >> word;) arguments.push_back(word);
    return command(arguments);
}

}  // namespace leasehold_test
